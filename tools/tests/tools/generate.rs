//! The `pogo-gen` command.

use crate::pogo_gen;

#[test]
fn writes_a_deck_and_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let output = pogo_gen(folder.path(), &["weld", "--size", "1e-3", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let deck = std::fs::read_to_string(folder.path().join("weld.inp")).unwrap();
    assert_eq!(summary["bytes"], deck.len());
    let n_elements = deck.lines().skip_while(|line| !line.starts_with("*Element")).skip(1);
    let n_elements = n_elements.take_while(|line| !line.starts_with('*')).count();
    assert_eq!(summary["quality"]["elements"], n_elements);
    assert!(summary["quality"]["min_angle"].as_f64().unwrap() > 20.0);

    let output = pogo_gen(folder.path(), &["box", "--elements", "C3D8R", "--nodes", "1000", "--quiet", "-o", "b.inp"]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(std::fs::read_to_string(folder.path().join("b.inp")).unwrap().contains("*Element, type=C3D8R"));
}

#[test]
fn says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["geophysics", "--frequency", "5"], 1, "error: geophysics has no tone burst"),
        (&["gear", "--no-crack"], 1, "error: gear has no crack"),
        (&["--completions", "dash"], 2, "known shells are bash, elvish"),
        (&["weld", "--size", "1"], 1, "error: element size 1e0 m is not possible for weld"),
        (&["gear", "--size", "1e-3", "--cycles", "0"], 1, "error: --cycles must be a number above 0"),
        (&["weld", "--size", "1e-3", "-o", "no/folder/weld.inp"], 1, "no/folder/weld.inp: error: "),
        (&["box", "--elements", "s4r", "--nodes", "100"], 2, "known kinds are cpe3, cps3"),
        (&["box", "3", "--jitter", "0.1"], 2, "cannot be used with"),
        (&["perlin", "--size", "32", "--cell", "8", "--cells", "2"], 2, "cannot be used with"),
    ];
    for (arguments, code, message) in cases {
        let output = pogo_gen(folder.path(), arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(message), "{error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn helps() {
    let folder = tempfile::tempdir().unwrap();
    let output = pogo_gen(folder.path(), &["--help"]);
    insta::assert_snapshot!("pogo_gen_help", String::from_utf8(output.stdout).unwrap());
    assert!(String::from_utf8_lossy(&pogo_gen(folder.path(), &["--man"]).stdout).contains(".TH pogo-gen"));
    let version = String::from_utf8(pogo_gen(folder.path(), &["--version"]).stdout).unwrap();
    assert_eq!(version.trim_end(), format!("pogo-gen {}", pogo_formats::VERSION));
}
