//! What has been written goes to the disk while the rest is made: then there is less to wait for when a file is finished.

use std::fs::File;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often a thread looks how long the file is by now.
const PAUSE: Duration = Duration::from_millis(10);
/// Bytes that are sent off together.
const PIECE: u64 = 8 << 20;

/// Has a thread send off what `write` appends to a file, which `file` is, too. Without a thread nothing is lost but time.
pub(super) fn while_written<T>(file: io::Result<File>, write: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        let send_off = move || {
            let Ok(file) = file else { return };
            let mut sent = 0;
            while is_done.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                let length = file.metadata().map_or(0, |metadata| metadata.len());
                if length >= sent + PIECE {
                    start_writing(&file, sent, length - sent);
                    sent = length;
                }
            }
        };
        let _ = std::thread::Builder::new().stack_size(1 << 18).spawn_scoped(scope, send_off);
        let written = write();
        drop(done);
        written
    })
}

/// Asks the system to bring a part of a file to the disk now.
pub(super) fn start_writing(file: &File, at: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    // SAFETY: an open file. An error is one of the disk, and comes again when the file is closed.
    let _ = unsafe {
        use std::os::fd::AsRawFd;
        libc::sync_file_range(file.as_raw_fd(), at as i64, bytes as i64, libc::SYNC_FILE_RANGE_WRITE)
    };
    #[cfg(not(target_os = "linux"))]
    let _ = (file, at, bytes);
}
