//! NVIDIA's compilers from PyPI.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Installs a version of a package into the target folder, unless it is there; the path of its file whose name begins with
/// `file`. `variable` is what users set to name a file of their own.
pub fn install(
    kernels: &Path,
    (package, version): (&str, &str),
    file: &str,
    variable: &str,
) -> Result<PathBuf, String> {
    let folder = crate::target(kernels).join(format!("{package}-{version}"));
    if let Some(path) = find(&folder, file) {
        return Ok(path);
    }
    let python = std::env::var("POGO_PYTHON").unwrap_or_else(|_| "python3".into());
    let status = Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"])
        .arg(&folder)
        .arg(format!("{package}=={version}"))
        .status()
        .map_err(|error| format!("{python}: {error}"))?;
    if !status.success() {
        return Err(format!("{python} cannot install {package} {version}; {variable} may name a {file} instead"));
    }
    find(&folder, file).ok_or(format!("there is no {file} in {}", folder.display()))
}

/// The file below a folder whose name begins so.
pub fn find(folder: &Path, start: &str) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).find_map(|path| {
        let name = path.file_name()?.to_str()?;
        if path.is_dir() { find(&path, start) } else { name.starts_with(start).then_some(path.clone()) }
    })
}
