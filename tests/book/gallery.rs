//! The gallery: each folder of `examples/gallery` has one command that draws one picture, which `docs/gallery.md` shows.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use pogo_tests::{command, workspace};

use super::pictures::Picture;
use super::{Page, writes};

/// Cases that take a few seconds: those that are run where `POGO_GALLERY_ALL` is not set.
const QUICK: [&str; 4] = ["lambs-problem", "foam", "heart-scar", "cloth"];

/// The folders of the gallery, in order.
fn cases() -> BTreeSet<String> {
    let entries = std::fs::read_dir(workspace().join("examples/gallery")).expect("the gallery");
    let folders = entries.map(|entry| entry.expect("an entry")).filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().into_string().expect("a name")).collect()
}

/// Runs a case into a folder of its own. Gives what is wrong.
fn run(case: &str, folder: &Path) -> Option<String> {
    let solve = command("pogo-solve");
    let bin = Path::new(solve.get_program()).parent().expect("a folder of commands").to_path_buf();
    let start = std::time::Instant::now();
    let script = workspace().join("examples/gallery").join(case).join("run.sh");
    let output = Command::new(script).env("POGO_BIN", bin).env("POGO_GALLERY", folder).output().expect("a shell");
    println!("{case}: {:.1} s", start.elapsed().as_secs_f64());
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        return Some(format!("{case} failed with {}\n{errors}", output.status));
    }
    let drawn = folder.join(case).join(format!("{case}.png"));
    match Picture::read(&drawn) {
        Err(error) => return Some(format!("{case} drew no {}: {error}", drawn.display())),
        Ok(picture) if picture.is_blank() => return Some(format!("the picture of {case} is blank")),
        Ok(picture) if writes() => picture.write(&workspace().join(format!("docs/pictures/gallery/{case}.png"))),
        Ok(_) => {}
    }
    None
}

#[test]
fn page_of_gallery_shows_every_case() {
    let page = Page::read("docs/gallery.md");
    for case in cases() {
        let picture = workspace().join(format!("docs/pictures/gallery/{case}.png"));
        let bytes = picture.metadata().map_or(0, |metadata| metadata.len());
        assert!(bytes > 0 && bytes <= super::pictures::LARGEST, "{} has {bytes} bytes", picture.display());
        assert!(page.text.contains(&format!("](pictures/gallery/{case}.png ")), "docs/gallery.md does not show {case}");
        assert!(
            page.text.contains(&format!("examples/gallery/{case}/run.sh")),
            "docs/gallery.md does not say how to run {case}"
        );
    }
    for name in QUICK {
        assert!(cases().contains(name), "there is no case {name}");
    }
}

#[test]
#[ignore = "slow, half a minute: .ci/run --slow runs it"]
fn cases_of_gallery_draw_their_pictures() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = std::env::var_os("POGO_GALLERY_ALL").is_some();
    let chosen = cases().into_iter().filter(|case| all || QUICK.contains(&case.as_str()));
    let problems: Vec<String> = chosen.filter_map(|case| run(&case, folder.path())).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
