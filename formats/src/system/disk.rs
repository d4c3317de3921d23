//! Room on disks.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that this process may still write to the file system of a folder, quotas aside; none where the system does not say.
#[allow(clippy::unnecessary_cast)] // the fields have 32 bits on some systems
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let folder = CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: a zeroed `statvfs` is a valid one, the path ends with a zero, and the call writes nothing but the structure.
    let (found, failed) = unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        let failed = libc::statvfs(folder.as_ptr(), &mut found);
        (found, failed)
    };
    (failed == 0).then(|| (found.f_bavail as u64).saturating_mul(found.f_frsize as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_room_and_none_has_not() {
        assert!(free_bytes(&std::env::temp_dir()).is_some_and(|bytes| bytes > 0));
        assert_eq!(free_bytes(Path::new("/proc")), Some(0));
        assert_eq!(free_bytes(Path::new("/there/is/no/such/folder")), None);
    }
}
