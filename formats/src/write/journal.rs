//! The names of the files that a run writes into a folder, kept on disk: what a killed run has left is known to the next.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Journals that are being kept.
static KEPT: Mutex<Vec<(u64, PathBuf, File)>> = Mutex::new(Vec::new());

/// A journal of a folder. Every file that is written atomically into it, or into a folder within, is noted before it is
/// there, until this is dropped.
#[derive(Debug)]
pub struct Journal(u64);

impl Journal {
    /// Notes names in `file`, a line each, relative to `folder`. Of several journals the one of the innermost folder is for
    /// a file.
    pub fn keep(folder: &Path, file: File) -> Self {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let number = kept.iter().map(|(number, ..)| number + 1).max().unwrap_or(0);
        kept.push((number, folder.to_owned(), file));
        Self(number)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).retain(|(number, ..)| *number != self.0);
    }
}

/// Notes a file that is about to be written. A journal that cannot be written is no reason to write nothing.
pub(super) fn note(path: &Path) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let innermost = kept
        .iter_mut()
        .filter(|(_, folder, _)| path.starts_with(folder))
        .max_by_key(|(_, folder, _)| folder.components().count());
    let Some((_, folder, file)) = innermost else { return };
    if let Some(name) = path.strip_prefix(folder).ok().and_then(Path::to_str).filter(|name| !name.contains('\n')) {
        let _ = file.write_all(format!("{name}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::write_atomically;

    #[test]
    fn files_are_noted_in_the_innermost_folder_with_a_journal() {
        let folder = tempfile::tempdir().unwrap();
        let (outer, inner) = (folder.path().to_owned(), folder.path().join("case"));
        std::fs::create_dir_all(inner.join("fields")).unwrap();
        let open = |folder: &Path| File::create(folder.join("journal")).unwrap();
        let of_outer = Journal::keep(&outer, open(&outer));
        let of_inner = Journal::keep(&inner, open(&inner));
        for name in ["a.csv", "case/b.csv", "case/fields/1.vtu"] {
            write_atomically(&outer.join(name), |_| Ok(())).unwrap();
        }
        drop((of_outer, of_inner));
        write_atomically(&outer.join("later"), |_| Ok(())).unwrap();
        let text = |folder: &Path| std::fs::read_to_string(folder.join("journal")).unwrap();
        assert_eq!((text(&outer).as_str(), text(&inner).as_str()), ("a.csv\n", "b.csv\nfields/1.vtu\n"));
    }
}
