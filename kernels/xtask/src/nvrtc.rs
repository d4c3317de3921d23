//! NVIDIA's run-time compiler, opened as a library: from CUDA C++ to PTX, without a toolkit.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::pypi;
use crate::stored::Module;

/// The driver compiles PTX of this architecture for every device from compute capability 8.0 on.
const ARCHITECTURE: &str = "-arch=compute_80";

/// A loaded libnvrtc, and the library of its built-in headers.
pub struct Compiler(Library, #[allow(dead_code)] Option<Library>);

type Program = *mut c_void;

impl Compiler {
    /// The library that POGO_NVRTC names, or that of this version, installed from PyPI if it is not there.
    pub fn find(kernels: &Path, version: &str) -> Result<Self, String> {
        let path = match std::env::var_os("POGO_NVRTC") {
            Some(path) => PathBuf::from(path),
            None => install(kernels, version)?,
        };
        let open = |path: &Path| {
            // SAFETY: NVIDIA's compiler; its initialisers have no conditions.
            unsafe { Library::new(path) }.map_err(|error| format!("{}: {error}", path.display()))
        };
        // The compiler looks for this library by name where the linker does, unless it is there already.
        let builtins = path.parent().and_then(|folder| pypi::find(folder, "libnvrtc-builtins.so"));
        let builtins = builtins.map(|path| open(&path)).transpose()?;
        Ok(Self(open(&path)?, builtins))
    }

    /// PTX of a module, without the compiler's banner, whose build number may change while the code does not.
    /// Both folders are laid out alike: of sources, and of headers that are made.
    pub fn compile(&self, sources: &Path, headers: &Path, module: &Module) -> Result<String, String> {
        let path = sources.join(&module.source);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let folder = path.parent().unwrap_or(sources);
        let mut options = vec![ARCHITECTURE.to_owned(), "--std=c++17".to_owned(), "-default-device".to_owned()];
        options.push(format!("-I{}", folder.display()));
        options.push(format!("-I{}", headers.join(&module.source).with_file_name("").display()));
        options.extend(module.options.iter().cloned());
        let ptx = self.run(&text, &module.source, &options).map_err(|log| format!("{}:\n{log}", module.name))?;
        let lines = ptx.lines().filter(|line| !line.starts_with("//")).map(|line| format!("{line}\n"));
        Ok(lines.collect::<String>().trim_start().to_owned())
    }

    fn run(&self, text: &str, name: &str, options: &[String]) -> Result<String, String> {
        let c = |text: &str| CString::new(text).map_err(|error| error.to_string());
        let (text, name) = (c(text)?, c(name)?);
        let options: Vec<CString> = options.iter().map(|option| c(option)).collect::<Result<_, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: the library's functions have these types; strings and lists live until the calls have ended.
        unsafe {
            type Names = *const *const c_char;
            type Create =
                unsafe extern "C" fn(*mut Program, *const c_char, *const c_char, c_int, Names, Names) -> c_int;
            type Compile = unsafe extern "C" fn(Program, c_int, Names) -> c_int;
            let create = self.function::<Create>("nvrtcCreateProgram")?;
            let none: Names = std::ptr::null();
            if create(&mut program, text.as_ptr(), name.as_ptr(), 0, none, none) != 0 {
                return Err("the compiler does not take the source".into());
            }
            let compile = self.function::<Compile>("nvrtcCompileProgram")?;
            let code = compile(program, pointers.len() as c_int, pointers.as_ptr());
            let log = self.text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?;
            let result = if code == 0 { self.text(program, "nvrtcGetPTXSize", "nvrtcGetPTX") } else { Err(log) };
            self.function::<unsafe extern "C" fn(*mut Program) -> c_int>("nvrtcDestroyProgram")?(&mut program);
            result
        }
    }

    /// A function of the library.
    ///
    /// # Safety
    /// It has this type.
    unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        // SAFETY: the caller's promise.
        unsafe { self.0.get::<F>(name.as_bytes()) }.map(|symbol| *symbol).map_err(|error| error.to_string())
    }

    /// A text that the compiler keeps, by the functions that give its size and the text itself.
    unsafe fn text(&self, program: Program, size: &str, get: &str) -> Result<String, String> {
        let mut n = 0_usize;
        // SAFETY: the library's functions have these types, and write as many bytes as they have said.
        let bytes = unsafe {
            self.function::<unsafe extern "C" fn(Program, *mut usize) -> c_int>(size)?(program, &mut n);
            let mut bytes = vec![0_u8; n];
            self.function::<unsafe extern "C" fn(Program, *mut u8) -> c_int>(get)?(program, bytes.as_mut_ptr());
            bytes
        };
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }
}

/// Installs the compiler from PyPI into the target folder; its path.
fn install(kernels: &Path, version: &str) -> Result<PathBuf, String> {
    let major = version.split('.').next().unwrap_or(version);
    let package = if major == "12" { "nvidia-cuda-nvrtc-cu12" } else { "nvidia-cuda-nvrtc" };
    pypi::install(kernels, (package, version), "libnvrtc.so", "POGO_NVRTC")
}
