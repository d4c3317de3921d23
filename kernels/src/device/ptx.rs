//! The compiled kernels: PTX in `kernels/ptx`, compressed, which the driver compiles for the device that it finds.

use std::ffi::{CStr, CString};
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use lzma_rust2::XzReader;

use super::{DeviceError, Gpu, check, driver, finish_default_stream};

/// The oldest driver that loads the stored kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Driver {
    /// Version of CUDA that the driver supports: 1000 × major + 10 × minor.
    pub cuda: u32,
    /// Version of the driver on Linux.
    pub linux: &'static str,
}

/// The driver that the kernels need. A test compares it with the PTX that is stored.
pub const DRIVER: Driver = Driver { cuda: 12040, linux: "550.54" };

macro_rules! modules {
    ($($name:literal,)*) => {
        /// Names and packed texts of the modules, as `kernels/ptx/modules.txt` lists them.
        static MODULES: &[(&str, &[u8])] =
            &[$(($name, include_bytes!(concat!("../../ptx/", $name, ".ptx.xz")))),*];
    };
}

modules! {
    "setup", "colours_plane",
    "fans_isotropic_f32", "fans_isotropic_f64", "fans_aligned_f32", "fans_aligned_f64", "fans_coupled_f32",
    "fans_coupled_f64",
    "exchange", "fans_of_devices_isotropic_f32", "fans_of_devices_isotropic_f64", "fans_of_devices_aligned_f32",
    "fans_of_devices_aligned_f64", "fans_of_devices_coupled_f32", "fans_of_devices_coupled_f64", "solids_f32", "solids_f64", "march_f32", "march_f64",
    "brick_f32", "brick_f64", "levels", "levels_of_devices",
    "spring_f32", "spring_f64", "spring_columns", "spring_resident",
    "eikonal_active_f32", "eikonal_active_f64", "eikonal_wide", "eikonal_domains_f32", "eikonal_domains_f64",
}

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Takes NAME.ptx from a folder instead of the stored kernels, for benchmarks that compare compilers
/// (`cargo xtask kernels --out`). Counts once, before the first module is loaded.
pub fn use_ptx_from(folder: impl Into<PathBuf>) {
    let _ = FOLDER.set(folder.into());
}

/// Text of a module, with a 0 at its end.
fn text(name: &str) -> Result<CString, DeviceError> {
    let failed = |reason: String| DeviceError::Failed { what: "read the kernels", reason };
    let text = if let Some(folder) = FOLDER.get() {
        let path = folder.join(format!("{name}.ptx"));
        std::fs::read(&path).map_err(|error| failed(format!("{}: {error}", path.display())))?
    } else {
        let packed = MODULES.iter().find(|(of, _)| *of == name);
        let (_, packed) = packed.ok_or_else(|| failed(format!("there is no module `{name}`")))?;
        let mut text = Vec::new();
        XzReader::new(*packed, false).read_to_end(&mut text).map_err(|error| failed(error.to_string()))?;
        text
    };
    CString::new(text).map_err(|error| failed(error.to_string()))
}

/// A loaded module. The driver takes tenths of a second to compile one, so a module that is dropped is kept for the next
/// solver of this process that asks for it.
#[derive(Debug)]
pub(crate) struct Module {
    ordinal: u32,
    name: &'static str,
    handle: driver::ModuleHandle,
}

// SAFETY: a handle that the driver lets any thread use.
unsafe impl Send for Module {}

static IDLE: Mutex<Vec<Module>> = Mutex::new(Vec::new());

impl Module {
    /// Loads a module into the current context, that of the device.
    pub fn load(gpu: &Gpu, name: &str) -> Result<Self, DeviceError> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = idle.iter().position(|module| module.ordinal == gpu.ordinal && module.name == name) {
            return Ok(idle.swap_remove(at));
        }
        drop(idle);
        let name = MODULES.iter().find(|(of, _)| *of == name).map_or("", |(of, _)| of);
        Self::compile(gpu, name, &text(name)?)
    }

    /// Has the driver compile PTX.
    pub fn compile(gpu: &Gpu, name: &'static str, text: &CStr) -> Result<Self, DeviceError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: a context is current; the text ends with a 0.
        check("load the kernels", unsafe { driver::cuModuleLoadData(&mut handle, text.as_ptr().cast()) })?;
        Ok(Self { ordinal: gpu.ordinal, name, handle })
    }

    pub fn handle(&self) -> driver::ModuleHandle {
        self.handle
    }

    /// Sets a constant of the module.
    ///
    /// # Errors
    /// There is none of this name and size.
    pub fn set_constant(&self, name: &CStr, values: &[f32]) -> Result<(), DeviceError> {
        let (mut at, mut bytes) = (0, 0);
        // SAFETY: a loaded module, a string that ends.
        check("find a constant", unsafe {
            driver::cuModuleGetGlobal_v2(&mut at, &mut bytes, self.handle, name.as_ptr())
        })?;
        if bytes != size_of_val(values) {
            return Err(DeviceError::Failed { what: "set a constant", reason: "it has another size".into() });
        }
        // SAFETY: both sides have so many bytes.
        check("set a constant", unsafe { driver::cuMemcpyHtoD_v2(at, values.as_ptr().cast(), bytes) })?;
        finish_default_stream()
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let kept = Self { ordinal: self.ordinal, name: self.name, handle: self.handle };
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions of PTX, of the CUDA that brought them, and of its driver on Linux (NVIDIA's release notes).
    const VERSIONS: [(&str, u32, &str); 9] = [
        ("8.0", 12000, "525.60"),
        ("8.1", 12010, "530.30"),
        ("8.2", 12020, "535.54"),
        ("8.3", 12030, "545.23"),
        ("8.4", 12040, "550.54"),
        ("8.5", 12050, "555.42"),
        ("8.6", 12070, "565.57"),
        ("8.7", 12080, "570.26"),
        ("9.0", 13000, "580.65"),
    ];

    #[test]
    fn the_named_driver_loads_every_stored_module() {
        let mut newest = 0;
        for (name, _) in MODULES {
            let text = text(name).unwrap().into_string().unwrap();
            let version = text.lines().find_map(|line| line.strip_prefix(".version ")).unwrap();
            let (_, cuda, linux) = VERSIONS.iter().find(|(ptx, ..)| *ptx == version).unwrap();
            assert!(*cuda <= DRIVER.cuda, "{name} has PTX {version}, which needs CUDA {cuda}, driver {linux}");
            newest = newest.max(*cuda);
            assert!(text.contains(".target sm_80"), "{name}");
        }
        assert_eq!(newest, DRIVER.cuda, "an older driver would do");
        assert!(VERSIONS.iter().any(|&(_, cuda, linux)| cuda == DRIVER.cuda && linux == DRIVER.linux));
    }

    #[test]
    fn every_listed_module_can_be_loaded() {
        let listed = include_str!("../../ptx/modules.txt")
            .lines()
            .filter_map(|line| line.split('#').next().unwrap_or("").split_whitespace().next());
        let mut listed: Vec<&str> = listed.collect();
        let mut stored: Vec<&str> = MODULES.iter().map(|(name, _)| *name).collect();
        listed.sort_unstable();
        stored.sort_unstable();
        assert_eq!(listed, stored);
        assert!(text("nothing").is_err());
    }

    #[test]
    fn an_old_driver_is_told_in_one_sentence() {
        let text = DeviceError::OldDriver { found: 12020 }.to_string();
        assert_eq!(
            text,
            "the CUDA driver is too old: it supports CUDA 12.2, the kernels need CUDA 12.4 (driver 550.54 or later); update \
             the driver, or use --device cpu"
        );
    }
}
