//! Commands of the project itself: `cargo xtask kernels` compiles the CUDA kernels and stores them in `kernels/ptx`.

mod nvrtc;
mod stored;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use nvrtc::Compiler;
use stored::{Module, Record, Store};

/// Compiler that the stored kernels come from: the oldest whose kernels are as fast as those of any newer one.
const TOOLKIT: &str = "12.4.127";

const HELP: &str = "\
Compiles the CUDA kernels and stores them in kernels/ptx.

Usage: cargo xtask kernels [OPTIONS]

By default only modules whose sources or options have changed are compiled. The compiler (NVRTC) is installed from PyPI into
target/nvrtc-VERSION; the variable POGO_NVRTC names another libnvrtc.so.

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

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("kernels") => {}
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
    match run(&options) {
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

fn run(options: &Options) -> Result<String, String> {
    if !options.check {
        write_headers()?;
    }
    let store = Store::open(&kernels(), TOOLKIT)?;
    let toolkit = options.toolkit.as_deref().unwrap_or(TOOLKIT);
    if let Some(folder) = &options.out {
        let compiler = Compiler::find(&kernels(), toolkit)?;
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for module in &store.modules {
            let path = folder.join(format!("{}.ptx", module.name));
            std::fs::write(&path, compile(&compiler, module)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        return Ok(format!("{} modules by NVRTC {toolkit} are in {}", store.modules.len(), folder.display()));
    }
    if toolkit != TOOLKIT {
        return Err("--toolkit is for --out: what is stored comes from one compiler".into());
    }
    if options.check && !options.all {
        store.check()?;
        return Ok(format!("the {} stored modules are those of the sources", store.modules.len()));
    }
    let stale: Vec<&Module> = store.modules.iter().filter(|module| options.all || !store.is_current(module)).collect();
    if stale.is_empty() {
        store.check()?;
        return Ok(format!("nothing to do: the {} stored modules are those of the sources", store.modules.len()));
    }
    let compiler = Compiler::find(&kernels(), toolkit)?;
    let mut records = store.records.clone();
    for module in &stale {
        let ptx = compile(&compiler, module)?;
        if options.check {
            if store.read(&module.name)? != ptx {
                return Err(format!("{} is not what its sources give", module.name));
            }
            continue;
        }
        let record = Record { sources: module.hash.clone(), ptx: stored::hash(ptx.as_bytes()) };
        store.write(&module.name, &ptx)?;
        records.insert(module.name.clone(), record);
    }
    if options.check {
        return Ok(format!("the {} stored modules are what NVRTC {toolkit} makes of the sources", stale.len()));
    }
    store.finish(records)?;
    Ok(format!("compiled {} of {} modules with NVRTC {toolkit}", stale.len(), store.modules.len()))
}

/// Has a test of the kernels' crate write the headers of the layouts that kernels and host share.
fn write_headers() -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--quiet", "-p", "pogo-kernels", "--lib", "header_is_current"])
        .env("POGO_WRITE_HEADERS", "1")
        .current_dir(kernels())
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("the headers of the layouts cannot be written".into()) }
}

fn compile(compiler: &Compiler, module: &Module) -> Result<String, String> {
    eprintln!("compiling {}", module.name);
    compiler.compile(&kernels().join("src"), module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_kernels_are_those_of_the_sources() {
        let store = Store::open(&kernels(), TOOLKIT).unwrap();
        assert!(!store.modules.is_empty());
        store.check().unwrap();
    }

    #[test]
    fn stored_kernels_are_small() {
        let store = Store::open(&kernels(), TOOLKIT).unwrap();
        let bytes: u64 = store.modules.iter().map(|m| std::fs::metadata(store.path(&m.name)).unwrap().len()).sum();
        // Each module is in every program and in every clone.
        let most = 44_000 * store.modules.len() as u64;
        assert!(bytes < most, "{bytes} bytes of compiled kernels, at most {most}");
    }
}
