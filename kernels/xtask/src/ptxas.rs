//! NVIDIA's assembler: from PTX to machine code of one architecture.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pypi;

/// The assembler that the stored machine code comes from: the newest of CUDA 12, whose code every driver of CUDA 12 loads.
pub const VERSION: &str = "12.9.86";

/// Compute capabilities of the stored machine code, without the dot. Devices of a later minor number run it, too.
pub const ARCHITECTURES: [u32; 4] = [80, 90, 100, 120];

/// The program `ptxas`.
pub struct Assembler {
    program: PathBuf,
    work: PathBuf,
}

impl Assembler {
    /// The program that POGO_PTXAS names, or that of [`VERSION`], installed from PyPI if it is not there.
    pub fn find(kernels: &Path) -> Result<Self, String> {
        let program = match std::env::var_os("POGO_PTXAS") {
            Some(path) => PathBuf::from(path),
            None => pypi::install(kernels, ("nvidia-cuda-nvcc-cu12", VERSION), "ptxas", "POGO_PTXAS")?,
        };
        let said = Command::new(&program).arg("--version").output();
        let said = said.map_err(|error| format!("{}: {error}", program.display()))?;
        if !String::from_utf8_lossy(&said.stdout).contains(&format!("V{VERSION}")) {
            return Err(format!("{} is not ptxas {VERSION}", program.display()));
        }
        let work = std::env::temp_dir().join(format!("pogo-ptxas-{}", std::process::id()));
        std::fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
        Ok(Self { program, work })
    }

    /// Machine code of a module for each of the [`ARCHITECTURES`].
    pub fn assemble(&self, name: &str, ptx: &str) -> Result<Vec<Vec<u8>>, String> {
        let (source, code) = (self.work.join("module.ptx"), self.work.join("module.cubin"));
        let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        std::fs::write(&source, ptx).map_err(|error| failed(&source, error))?;
        let one = |architecture: &u32| {
            // Relative paths, so that nothing of the machine is in the code.
            let output = Command::new(&self.program)
                .args(["-arch", &format!("sm_{architecture}"), "module.ptx", "-o", "module.cubin"])
                .current_dir(&self.work)
                .output()
                .map_err(|error| failed(&self.program, error))?;
            if !output.status.success() {
                return Err(format!("{name}, sm_{architecture}:\n{}", String::from_utf8_lossy(&output.stderr)));
            }
            std::fs::read(&code).map_err(|error| failed(&code, error))
        };
        ARCHITECTURES.iter().map(one).collect()
    }
}

impl Drop for Assembler {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.work);
    }
}
