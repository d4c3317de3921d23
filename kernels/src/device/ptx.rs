//! The compiled kernels in `kernels/ptx`, compressed: machine code for common devices, and PTX, which the driver compiles for
//! others. Compiling takes the driver some seconds.

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

/// A module: its name in `kernels/ptx/modules.txt`, and what is stored of it, packed.
struct Stored {
    name: &'static str,
    ptx: &'static [u8],
    /// Machine code, by the compute capability that it was made for, ascending.
    code: [((i32, i32), &'static [u8]); 4],
}

macro_rules! modules {
    ($($name:literal,)*) => {
        /// All modules of `kernels/ptx/modules.txt`.
        static MODULES: &[Stored] = &[$(Stored {
            name: $name,
            ptx: include_bytes!(concat!("../../ptx/", $name, ".ptx.xz")),
            code: [
                ((8, 0), include_bytes!(concat!("../../ptx/", $name, ".sm_80.xz"))),
                ((9, 0), include_bytes!(concat!("../../ptx/", $name, ".sm_90.xz"))),
                ((10, 0), include_bytes!(concat!("../../ptx/", $name, ".sm_100.xz"))),
                ((12, 0), include_bytes!(concat!("../../ptx/", $name, ".sm_120.xz"))),
            ],
        }),*];
    };
}

modules! {
    "setup", "colours_plane",
    "fans_isotropic_f32", "fans_isotropic_f64", "fans_aligned_f32", "fans_aligned_f64", "fans_coupled_f32",
    "fans_coupled_f64", "fans_acoustic_f32", "fans_acoustic_f64",
    "fans_of_shots_isotropic_f32", "fans_of_shots_isotropic_f64", "fans_of_shots_aligned_f32", "fans_of_shots_aligned_f64",
    "fans_of_shots_coupled_f32", "fans_of_shots_coupled_f64",
    "exchange", "fans_of_devices_isotropic_f32", "fans_of_devices_isotropic_f64", "fans_of_devices_aligned_f32",
    "fans_of_devices_aligned_f64", "fans_of_devices_coupled_f32", "fans_of_devices_coupled_f64", "fans_of_devices_acoustic_f32",
    "fans_of_devices_acoustic_f64", "solids_f32", "solids_f64", "march_f32",
    "march_f64", "fluids_plane", "fluids_f32", "fluids_f64", "corrections", "viscous", "sums",
    "brick_f32", "brick_f64", "levels", "levels_of_devices",
    "spring_f32", "spring_f64", "spring_columns", "spring_resident",
    "eikonal_active_f32", "eikonal_active_f64", "eikonal_wide", "eikonal_domains_f32", "eikonal_domains_f64",
    "eikonal_active_of_devices_f32", "eikonal_active_of_devices_f64", "eikonal_wide_of_devices",
    "brick_ratios_f32", "brick_ratios_f64", "levels_ratios", "levels_of_devices_ratios",
}

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Takes NAME.ptx from a folder instead of the stored kernels, for benchmarks that compare compilers
/// (`cargo xtask kernels --out`). Counts once, before the first module is loaded.
pub fn use_ptx_from(folder: impl Into<PathBuf>) {
    let _ = FOLDER.set(folder.into());
}

fn failed(reason: impl ToString) -> DeviceError {
    DeviceError::Failed { what: "read the kernels", reason: reason.to_string() }
}

impl Stored {
    fn find(name: &str) -> Result<&'static Self, DeviceError> {
        MODULES.iter().find(|module| module.name == name).ok_or_else(|| failed(format!("there is no module `{name}`")))
    }

    /// Text of the module, with a 0 at its end.
    fn text(&self) -> Result<CString, DeviceError> {
        let text = match FOLDER.get() {
            Some(folder) => {
                let path = folder.join(format!("{}.ptx", self.name));
                std::fs::read(&path).map_err(|error| failed(format!("{}: {error}", path.display())))?
            }
            None => unpack(self.ptx)?,
        };
        CString::new(text).map_err(failed)
    }

    /// Machine code that runs on devices of a compute capability, if there is any: code for the same major number and no later
    /// minor number.
    fn code(&self, (major, minor): (i32, i32)) -> Option<&'static [u8]> {
        let runs = |made_for: (i32, i32)| made_for.0 == major && made_for.1 <= minor;
        let newest = self.code.iter().rev().find(|(made_for, _)| runs(*made_for));
        newest.filter(|_| FOLDER.get().is_none()).map(|(_, packed)| *packed)
    }
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>, DeviceError> {
    let mut bytes = Vec::new();
    XzReader::new(packed, false).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
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
        let stored = Stored::find(name)?;
        if let Some(packed) = stored.code(gpu.capability) {
            let mut handle = std::ptr::null_mut();
            let code = unpack(packed)?;
            // SAFETY: a context is current; the code is whole, as a test of its hash says.
            let status = unsafe { driver::cuModuleLoadData(&mut handle, code.as_ptr().cast()) };
            // A driver that does not know this code compiles the PTX.
            if !driver::UNKNOWN_CODE.contains(&status) {
                check("load the kernels", status)?;
                return Ok(Self { ordinal: gpu.ordinal, name: stored.name, handle });
            }
        }
        Self::compile(gpu, stored.name, &stored.text()?)
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
        for Stored { name, ptx, .. } in MODULES {
            let text = String::from_utf8(unpack(ptx).unwrap()).unwrap();
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
        let mut stored: Vec<&str> = MODULES.iter().map(|module| module.name).collect();
        listed.sort_unstable();
        stored.sort_unstable();
        assert_eq!(listed, stored);
        assert!(Stored::find("nothing").is_err());
    }

    /// Offsets of an ELF header (System V ABI): the machine is 190 for CUDA, and the lowest two bytes of the flags have the
    /// compute capability in CUDA 12 (second lowest byte, or lowest, by the version of the ABI).
    #[test]
    fn machine_code_is_for_the_devices_that_it_is_given_to() {
        for module in MODULES {
            for (made_for, packed) in module.code {
                let code = unpack(packed).unwrap();
                assert_eq!((&code[..4], code[18]), (b"\x7fELF".as_slice(), 190), "{}", module.name);
                let flags = u32::from_le_bytes(code[48..52].try_into().unwrap());
                let capability = (10 * made_for.0 + made_for.1) as u32;
                let found = [flags & 0xff, flags >> 8 & 0xff];
                assert!(found.contains(&capability), "{} {made_for:?}: {flags:#x}", module.name);
            }
        }
        let made_for = |capability| {
            let code = MODULES[0].code(capability)?;
            MODULES[0].code.iter().find(|(_, packed)| std::ptr::eq(*packed, code)).map(|(made_for, _)| *made_for)
        };
        let all = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 3), (11, 0), (12, 1)];
        let found = [None, Some((8, 0)), Some((8, 0)), Some((8, 0)), Some((9, 0)), Some((10, 0)), None, Some((12, 0))];
        assert_eq!(all.map(made_for), found);
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
