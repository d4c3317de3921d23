//! Commands of the project itself: `cargo xtask kernels` compiles the CUDA kernels and stores them in `kernels/ptx`, as PTX and
//! as machine code for common devices. `cargo xtask assets BIN OUT` writes manual pages and shell completions.

//!
//! The headers of the layouts that kernels and host share are no files of the repository. Tests of the kernels' crate write them
//! where `cargo xtask kernels` compiles, and check that the stored kernels were made with the same.

mod assets;
mod nvrtc;
mod ptxas;
mod pypi;
mod stored;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use nvrtc::Compiler;
use ptxas::Assembler;
use stored::{Module, Record, Store};

/// Compiler that the stored kernels come from: the oldest whose kernels are as fast as those of any newer one.
const TOOLKIT: &str = "12.4.127";

const HELP: &str = "\
Compiles the CUDA kernels and stores them in kernels/ptx.

Usage: cargo xtask kernels [OPTIONS]
       cargo xtask assets BIN OUT    writes the manual pages and shell completions of the commands in the folder BIN

By default only modules whose sources or options have changed are compiled. The compiler (NVRTC) is installed from PyPI into
the target folder, and so is the assembler (ptxas); the variables POGO_NVRTC and POGO_PTXAS name files of your own.

Options:
      --all              Compile every module
      --check            Change nothing: compare the sources with the hashes of what is stored, without a compiler;
                         with --all, compile every module and compare the result
      --toolkit VERSION  Another version of the compiler, only with --out
      --out FOLDER       Write plain NAME.ptx into a folder instead, for the benchmarks (variable POGO_PTX)
  -h, --help             Print help";

/// What the command line asks for.
#[derive(Default)]
struct Options {
    all: bool,
    check: bool,
    toolkit: Option<String>,
    out: Option<PathBuf>,
}

/// Carries out a command line, without the name of the program.
pub fn run_command(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    match arguments.next().as_deref() {
        Some("kernels") => {}
        Some("assets") => {
            let (Some(bin), Some(out), None) = (arguments.next(), arguments.next(), arguments.next()) else {
                eprintln!("{HELP}");
                return ExitCode::from(2);
            };
            return finish(assets::write(Path::new(&bin), Path::new(&out)));
        }
        Some("-h" | "--help") => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    }
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--all" => options.all = true,
            "--check" => options.check = true,
            "--toolkit" => options.toolkit = arguments.next(),
            "--out" => options.out = arguments.next().map(PathBuf::from),
            "-h" | "--help" => {
                println!("{HELP}");
                return ExitCode::SUCCESS;
            }
            other => {
                eprintln!("error: unknown option `{other}`\n\n{HELP}");
                return ExitCode::from(2);
            }
        }
    }
    finish(run(&options))
}

/// Prints how a command ended, and gives its exit code.
fn finish(result: Result<String, String>) -> ExitCode {
    match result {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Folder `kernels` of the repository.
fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Checks that the stored kernels were made of the sources, and of the headers in a folder, which is laid out as `kernels/src`.
///
/// # Errors
/// A module that was made of others.
pub fn check_sources(headers: &Path) -> Result<(), String> {
    let (store, headers) = (Store::open(&kernels())?, stored::read_headers(headers)?);
    store.modules.iter().try_for_each(|module| store.check_sources(module, &headers))
}

fn run(options: &Options) -> Result<String, String> {
    let store = Store::open(&kernels())?;
    let folder = target(&kernels()).join("kernel-headers");
    let folder = std::path::absolute(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    write_headers(&folder)?;
    let headers = stored::read_headers(&folder)?;
    let check = || check_sources(&folder).and_then(|()| store.check());
    let toolkit = options.toolkit.as_deref().unwrap_or(TOOLKIT);
    if let Some(out) = &options.out {
        let compiler = Compiler::find(&kernels(), toolkit)?;
        std::fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
        for module in &store.modules {
            let path = out.join(format!("{}.ptx", module.name));
            std::fs::write(&path, compile(&compiler, &folder, module)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        return Ok(format!("{} modules by NVRTC {toolkit} are in {}", store.modules.len(), out.display()));
    }
    if toolkit != TOOLKIT {
        return Err("--toolkit is for --out: what is stored comes from one compiler".into());
    }
    if options.check && !options.all {
        check()?;
        return Ok(format!("the {} stored modules are those of the sources", store.modules.len()));
    }
    let has_changed = |module: &&Module| options.all || !store.is_current(module, &headers);
    let (stale, rest): (Vec<&Module>, Vec<&Module>) = store.modules.iter().partition(has_changed);
    let unassembled: Vec<&Module> = rest.into_iter().filter(|module| !store.has_code(module)).collect();
    if stale.is_empty() && unassembled.is_empty() {
        check()?;
        return Ok(format!("nothing to do: the {} stored modules are those of the sources", store.modules.len()));
    }
    let assembler = Assembler::find(&kernels())?;
    let mut records = store.records.clone();
    if !stale.is_empty() {
        let compiler = Compiler::find(&kernels(), toolkit)?;
        for module in &stale {
            let ptx = compile(&compiler, &folder, module)?;
            let code = assembler.assemble(&module.name, &ptx)?;
            let record = Record {
                sources: store.hash_of_sources(module, &headers)?,
                ptx: stored::hash(ptx.as_bytes()),
                code: stored::hash_of_code(&code),
            };
            if !options.check {
                store.write(&module.name, &ptx)?;
                store.write_code(&module.name, &code)?;
                records.insert(module.name.clone(), record);
            } else if store.records.get(&module.name) != Some(&record) {
                return Err(format!("{} is not what its sources give", module.name));
            }
        }
    }
    if options.check {
        check()?;
        return Ok(format!("the {} stored modules are what NVRTC {toolkit} makes of the sources", stale.len()));
    }
    for module in &unassembled {
        eprintln!("assembling {}", module.name);
        let code = assembler.assemble(&module.name, &store.read(&module.name)?)?;
        store.write_code(&module.name, &code)?;
        if let Some(record) = records.get_mut(&module.name) {
            record.code = stored::hash_of_code(&code);
        }
    }
    store.finish(records)?;
    let (n, total, version) = (stale.len(), store.modules.len(), ptxas::VERSION);
    Ok(format!(
        "compiled {n} of {total} modules with NVRTC {toolkit}, assembled {} with ptxas {version}",
        n + unassembled.len()
    ))
}

/// The target folder.
fn target(kernels: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| kernels.with_file_name("target"), PathBuf::from)
}

/// Has the tests of the kernels' crate write the headers of the layouts that kernels and host share into a folder.
fn write_headers(folder: &Path) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--quiet", "-p", "pogo-kernels", "--lib", "header_holds_in_cpp"])
        .env("POGO_WRITE_HEADERS", folder)
        .current_dir(kernels())
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("the headers of the layouts cannot be written".into()) }
}

fn compile(compiler: &Compiler, headers: &Path, module: &Module) -> Result<String, String> {
    eprintln!("compiling {}", module.name);
    compiler.compile(&kernels().join("src"), headers, module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_kernels_are_what_was_compiled() {
        let store = Store::open(&kernels()).unwrap();
        assert!(!store.modules.is_empty());
        store.check().unwrap();
    }

    #[test]
    fn stored_kernels_are_small() {
        let store = Store::open(&kernels()).unwrap();
        let paths = store.modules.iter().flat_map(|module| store.paths(&module.name));
        let bytes: u64 = paths.map(|path| std::fs::metadata(path).unwrap().len()).sum();
        // Each module is in every program and in every clone, as PTX and for each architecture. Those of fluids and of
        // solids are a third of these bytes.
        let most = 11_300_000;
        assert!(bytes < most, "{bytes} bytes of compiled kernels, at most {most}");
    }
}
