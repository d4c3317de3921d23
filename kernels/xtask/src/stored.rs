//! The compiled kernels in `kernels/ptx`: their list, the hashes of what they were made of, and the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use lzma_rust2::{XzOptions, XzReader, XzWriter};
use sha2::{Digest as _, Sha256};

/// Line of `modules.txt`.
pub struct Module {
    pub name: String,
    /// Path below `kernels/src`.
    pub source: String,
    pub options: Vec<String>,
    /// SHA-256 of the compiler's version, the options, and the source with all that it includes.
    pub hash: String,
}

/// Line of `SOURCES.sha256`: hashes of a stored module.
#[derive(Clone, PartialEq)]
pub struct Record {
    pub sources: String,
    /// Of the text before compression.
    pub ptx: String,
}

/// The folder `kernels/ptx`.
pub struct Store {
    folder: PathBuf,
    pub modules: Vec<Module>,
    pub records: BTreeMap<String, Record>,
}

/// SHA-256 in hexadecimal digits.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Adds a source and every file that it includes, by their paths.
fn add_sources(path: &Path, sources: &mut BTreeMap<PathBuf, String>) -> Result<(), String> {
    if sources.contains_key(path) {
        return Ok(());
    }
    let text = read(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let included: Vec<PathBuf> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("#include \"")?.strip_suffix('"'))
        .map(|name| folder.join(name))
        .collect();
    sources.insert(path.to_path_buf(), text);
    included.iter().try_for_each(|path| add_sources(path, sources))
}

impl Module {
    /// A module from its line; none of an empty line or a comment.
    fn parse(line: &str, kernels: &Path, toolkit: &str) -> Result<Option<Self>, String> {
        let mut words = line.split('#').next().unwrap_or("").split_whitespace().map(str::to_owned);
        let Some(name) = words.next() else { return Ok(None) };
        let source = words.next().ok_or(format!("modules.txt: `{name}` has no source"))?;
        let options: Vec<String> = words.collect();
        let root = kernels.join("src");
        let mut sources = BTreeMap::new();
        add_sources(&root.join(&source), &mut sources)?;
        let mut text = format!("NVRTC {toolkit} {source} {}\n", options.join(" "));
        for (path, source) in &sources {
            let name = path.strip_prefix(&root).unwrap_or(path);
            let _ = write!(text, "{} {}\n{source}", name.display(), source.len());
        }
        Ok(Some(Self { name, source, options, hash: hash(text.as_bytes()) }))
    }
}

impl Store {
    pub fn open(kernels: &Path, toolkit: &str) -> Result<Self, String> {
        let folder = kernels.join("ptx");
        let parse = |line: &str| Module::parse(line, kernels, toolkit).transpose();
        let modules = read(&folder.join("modules.txt"))?.lines().filter_map(parse).collect::<Result<_, _>>()?;
        let mut records = BTreeMap::new();
        for line in read(&folder.join("SOURCES.sha256")).unwrap_or_default().lines() {
            if let [sources, ptx, name] = line.split_whitespace().collect::<Vec<_>>()[..] {
                records.insert(name.to_owned(), Record { sources: sources.to_owned(), ptx: ptx.to_owned() });
            }
        }
        Ok(Self { folder, modules, records })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.ptx.xz"))
    }

    /// Whether the stored module was made of these sources.
    pub fn is_current(&self, module: &Module) -> bool {
        self.records.get(&module.name).is_some_and(|record| record.sources == module.hash)
            && self.path(&module.name).exists()
    }

    /// Checks that every module is stored, was made of these sources, and is what was stored then.
    pub fn check(&self) -> Result<(), String> {
        for module in &self.modules {
            let record = self.records.get(&module.name).ok_or(format!("{} is not stored", module.name))?;
            if record.sources != module.hash {
                return Err(format!("the sources of {} have changed: run `cargo xtask kernels`", module.name));
            }
            if record.ptx != hash(self.read(&module.name)?.as_bytes()) {
                return Err(format!("{} is not what was compiled", self.path(&module.name).display()));
            }
        }
        let listed: BTreeSet<&String> = self.modules.iter().map(|module| &module.name).collect();
        match self.records.keys().find(|name| !listed.contains(name)) {
            Some(name) => Err(format!("{name} is stored and not listed: run `cargo xtask kernels --all`")),
            None => Ok(()),
        }
    }

    /// Text of a stored module.
    pub fn read(&self, name: &str) -> Result<String, String> {
        let path = self.path(name);
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut text = String::new();
        let packed = std::fs::read(&path).map_err(failed)?;
        XzReader::new(packed.as_slice(), false).read_to_string(&mut text).map_err(failed)?;
        Ok(text)
    }

    /// Stores the text of a module.
    pub fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.path(name);
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut packer = XzWriter::new(Vec::new(), XzOptions::with_preset(9)).map_err(failed)?;
        packer.write_all(text.as_bytes()).map_err(failed)?;
        std::fs::write(&path, packer.finish().map_err(failed)?).map_err(failed)
    }

    /// Writes the hashes, and removes stored modules that are not listed.
    pub fn finish(&self, mut records: BTreeMap<String, Record>) -> Result<(), String> {
        let listed: BTreeSet<&String> = self.modules.iter().map(|module| &module.name).collect();
        for name in records.keys().filter(|name| !listed.contains(name)) {
            let _ = std::fs::remove_file(self.path(name));
        }
        records.retain(|name, _| listed.contains(name));
        let mut text = String::new();
        for (name, Record { sources, ptx }) in &records {
            let _ = writeln!(text, "{sources} {ptx} {name}");
        }
        let path = self.folder.join("SOURCES.sha256");
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}
