//! The compiled kernels in `kernels/ptx`: their list, the hashes of what they were made of, and the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use lzma_rust2::{LzmaOptions, XzOptions, XzReader, XzWriter};
use sha2::{Digest as _, Sha256};

use crate::{TOOLKIT, ptxas};

/// Line of `modules.txt`.
pub struct Module {
    pub name: String,
    /// Path below `kernels/src`.
    pub source: String,
    pub options: Vec<String>,
}

/// Texts of headers that are made, by their paths below `kernels/src`.
pub type Headers = BTreeMap<PathBuf, String>;

/// Line of `SOURCES.sha256`: hashes of a stored module.
#[derive(Clone, PartialEq)]
pub struct Record {
    /// Of the compiler's version, the options, and the source with all that it includes.
    pub sources: String,
    /// Of the text before compression.
    pub ptx: String,
    /// Of the assembler's version and the machine code before compression.
    pub code: String,
}

/// The folder `kernels/ptx`.
pub struct Store {
    folder: PathBuf,
    /// The folder `kernels/src`.
    sources: PathBuf,
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

/// [`Record::code`] of machine code by architecture.
pub fn hash_of_code(code: &[Vec<u8>]) -> String {
    hash(&[format!("ptxas {} {:?}\n", ptxas::VERSION, ptxas::ARCHITECTURES).as_bytes(), &code.concat()].concat())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads all headers in a folder.
pub fn read_headers(folder: &Path) -> Result<Headers, String> {
    fn add(folder: &Path, root: &Path, headers: &mut Headers) -> Result<(), String> {
        let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            match path.strip_prefix(root) {
                Ok(name) if !path.is_dir() => drop(headers.insert(name.to_path_buf(), read(&path)?)),
                _ => add(&path, root, headers)?,
            }
        }
        Ok(())
    }
    let mut headers = Headers::new();
    add(folder, folder, &mut headers)?;
    Ok(headers)
}

/// Adds a source below `root` and every file that it includes, by their paths.
fn add_sources(
    path: &Path,
    (root, headers): (&Path, &Headers),
    sources: &mut BTreeMap<PathBuf, String>,
) -> Result<(), String> {
    if sources.contains_key(path) {
        return Ok(());
    }
    let made = path.strip_prefix(root).ok().and_then(|path| headers.get(path));
    let text = made.map_or_else(|| read(path), |text| Ok(text.clone()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let included: Vec<PathBuf> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("#include \"")?.strip_suffix('"'))
        .map(|name| folder.join(name))
        .collect();
    sources.insert(path.to_path_buf(), text);
    included.iter().try_for_each(|path| add_sources(path, (root, headers), sources))
}

impl Module {
    /// A module from its line; none of an empty line or a comment.
    fn parse(line: &str) -> Result<Option<Self>, String> {
        let mut words = line.split('#').next().unwrap_or("").split_whitespace().map(str::to_owned);
        let Some(name) = words.next() else { return Ok(None) };
        let source = words.next().ok_or(format!("modules.txt: `{name}` has no source"))?;
        Ok(Some(Self { name, source, options: words.collect() }))
    }
}

impl Store {
    pub fn open(kernels: &Path) -> Result<Self, String> {
        let (folder, sources) = (kernels.join("ptx"), kernels.join("src"));
        let parse = |line: &str| Module::parse(line).transpose();
        let modules = read(&folder.join("modules.txt"))?.lines().filter_map(parse).collect::<Result<_, _>>()?;
        let mut records = BTreeMap::new();
        for line in read(&folder.join("SOURCES.sha256")).unwrap_or_default().lines() {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            if let Ok([sources, ptx, code, name]) = <[String; 4]>::try_from(words) {
                records.insert(name, Record { sources, ptx, code });
            }
        }
        Ok(Self { folder, sources, modules, records })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.ptx.xz"))
    }

    fn code_path(&self, name: &str, architecture: u32) -> PathBuf {
        self.folder.join(format!("{name}.sm_{architecture}.xz"))
    }

    /// Files of a module.
    pub fn paths(&self, name: &str) -> Vec<PathBuf> {
        let code = ptxas::ARCHITECTURES.iter().map(|&architecture| self.code_path(name, architecture));
        std::iter::once(self.path(name)).chain(code).collect()
    }

    /// [`Record::sources`] of a module as its sources are now.
    pub fn hash_of_sources(&self, module: &Module, headers: &Headers) -> Result<String, String> {
        let (root, Module { source, options, .. }) = (&self.sources, module);
        let mut sources = BTreeMap::new();
        add_sources(&root.join(source), (root, headers), &mut sources)?;
        let mut text = format!("NVRTC {TOOLKIT} {source} {}\n", options.join(" "));
        for (path, source) in &sources {
            let name = path.strip_prefix(root).unwrap_or(path);
            let _ = write!(text, "{} {}\n{source}", name.display(), source.len());
        }
        Ok(hash(text.as_bytes()))
    }

    /// Checks that a stored module was made of these sources.
    pub fn check_sources(&self, module: &Module, headers: &Headers) -> Result<(), String> {
        let current = self.hash_of_sources(module, headers)?;
        match self.records.get(&module.name).is_some_and(|record| record.sources == current) {
            true => Ok(()),
            false => Err(format!("the sources of {} have changed: run `cargo xtask kernels`", module.name)),
        }
    }

    /// Whether the stored PTX was made of these sources.
    pub fn is_current(&self, module: &Module, headers: &Headers) -> bool {
        self.check_sources(module, headers).is_ok() && self.path(&module.name).exists()
    }

    /// Whether the stored machine code is what was made of the stored PTX.
    pub fn has_code(&self, module: &Module) -> bool {
        let record = self.records.get(&module.name);
        self.read_code(&module.name).is_ok_and(|code| record.is_some_and(|record| record.code == hash_of_code(&code)))
    }

    /// Checks that every module is stored, and is what was stored when it was compiled.
    pub fn check(&self) -> Result<(), String> {
        for module in &self.modules {
            let record = self.records.get(&module.name).ok_or(format!("{} is not stored", module.name))?;
            if record.ptx != hash(self.read(&module.name)?.as_bytes()) {
                return Err(format!("{} is not what was compiled", self.path(&module.name).display()));
            }
            if !self.has_code(module) {
                return Err(format!("the machine code of {} is not what was compiled", module.name));
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
        String::from_utf8(unpack(&path)?).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Stored machine code of a module, by architecture.
    fn read_code(&self, name: &str) -> Result<Vec<Vec<u8>>, String> {
        ptxas::ARCHITECTURES.iter().map(|&architecture| unpack(&self.code_path(name, architecture))).collect()
    }

    /// Stores the text of a module.
    pub fn write(&self, name: &str, text: &str) -> Result<(), String> {
        // Text has no alignment.
        let options = LzmaOptions { pb: 0, nice_len: LzmaOptions::NICE_LEN_MAX, ..LzmaOptions::with_preset(9) };
        pack(&self.path(name), text.as_bytes(), options)
    }

    /// Stores the machine code of a module, by architecture.
    pub fn write_code(&self, name: &str, code: &[Vec<u8>]) -> Result<(), String> {
        // An instruction has 16 bytes: the place of a byte within it tells more of its value than the byte before does.
        let options = LzmaOptions { lc: 0, pb: 4, nice_len: LzmaOptions::NICE_LEN_MAX, ..LzmaOptions::with_preset(9) };
        let mut pairs = ptxas::ARCHITECTURES.iter().zip(code);
        pairs.try_for_each(|(&architecture, code)| pack(&self.code_path(name, architecture), code, options.clone()))
    }

    /// Writes the hashes, and removes stored modules that are not listed.
    pub fn finish(&self, mut records: BTreeMap<String, Record>) -> Result<(), String> {
        let listed: BTreeSet<&String> = self.modules.iter().map(|module| &module.name).collect();
        for name in records.keys().filter(|name| !listed.contains(name)) {
            self.paths(name).iter().for_each(|path| drop(std::fs::remove_file(path)));
        }
        records.retain(|name, _| listed.contains(name));
        let mut text = String::new();
        for (name, Record { sources, ptx, code }) in &records {
            let _ = writeln!(text, "{sources} {ptx} {code} {name}");
        }
        let path = self.folder.join("SOURCES.sha256");
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

fn unpack(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    let packed = std::fs::read(path).map_err(failed)?;
    XzReader::new(packed.as_slice(), false).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn pack(path: &Path, bytes: &[u8], lzma_options: LzmaOptions) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let options = XzOptions { lzma_options, ..XzOptions::with_preset(9) };
    let mut packer = XzWriter::new(Vec::new(), options).map_err(failed)?;
    packer.write_all(bytes).map_err(failed)?;
    std::fs::write(path, packer.finish().map_err(failed)?).map_err(failed)
}
