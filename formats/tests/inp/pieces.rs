//! Long blocks, which several threads read, give what one thread gives line by line.

use super::*;

/// A sheet of CPE4 with `n` elements along x, and lines as many writers make them. `odd` are lines that are put among those of
/// nodes and elements, each before a line of that number.
fn sheet(n: usize, ending: &str, odd: &[(usize, &str)]) -> String {
    let mut lines: Vec<String> = vec!["*Node, nset=ALL".into()];
    for i in 0..=n {
        for (j, y) in ["0", "1.0D0", "2.e+00"].into_iter().enumerate() {
            lines.push(format!("  {}, {:.9e},\t{y}{ending}", 3 * i + j + 1, i as f64 * 0.1));
        }
        if i % 1000 == 17 {
            lines.push("** a comment".into());
            lines.push(String::new());
        }
    }
    lines.push("** Elements follow".into());
    lines.push("*Element, type=CPE4, elset=PLATE".into());
    for i in 0..n {
        for j in 1..3 {
            let a = 3 * i + j;
            // Every seventh element goes on in a second line.
            let gap = if i % 7 == 0 { ",\n" } else { ", " };
            lines.push(format!("{}, {a}, {}{gap}{}, {}{ending}", 2 * i + j, a + 3, a + 4, a + 1));
        }
    }
    for &(at, line) in odd.iter().rev() {
        lines.insert(at, line.into());
    }
    let rest = SQUARE.split_once("*Solid").unwrap().1;
    lines.join("\n") + "\n*Solid" + rest
}

/// What comes of a deck by some threads: the model with its notes, or the errors.
fn by_threads(text: &str, n: usize) -> Result<(Model, Vec<String>), String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    pool.install(|| {
        let deck = try_read(text, &[]).map_err(|error| error.to_string())?;
        let notes = deck.notes.iter().map(|note| format!("{note:?}")).collect();
        Ok((deck.finish().map_err(|error| error.to_string())?.0, notes))
    })
}

#[test]
fn threads_read_what_one_reads() {
    let n = 60_000;
    let node = 50_000;
    let element = 3 * n + 60_000;
    let cases: [(&str, &[(usize, &str)]); 8] = [
        ("", &[]),
        // Nobody can tell where a record begins.
        (",", &[]),
        // Something behind the coordinates, which is said once.
        ("", &[(node, "900001, 1., 2., 3., 4."), (node + 20_000, "900002, 1., 2., 3., 4.")]),
        ("", &[(node, "*Node, system=C, nset=MORE\n900001, 2., 90., 3.\n*Node")]),
        ("", &[(node, "900001, 1.2.3, 0."), (node + 1, "900002 3"), (element, "900001, 1, 2"), (element, "x")]),
        ("", &[(element, "900001, 1, 4, 5,\n** between\n\n  2")]),
        ("", &[(element, "1, 1, 4, 5, 2")]),
        ("", &[(element, "900001, 1, 4, 5,\n 2, 7")]),
    ];
    for (ending, odd) in cases {
        let text = sheet(n, ending, odd);
        // Two threads read less at once than the nodes are, three more.
        let [one, two, three] = [1, 2, 3].map(|threads| by_threads(&text, threads));
        for several in [two, three] {
            assert!(one == several, "{ending:?} {odd:?}: {:?} and {:?}", one.err(), several.err());
        }
        assert_eq!(
            one.is_err(),
            odd.iter().any(|(_, line)| line.contains("1.2.3") || line.contains(" 7") || *line == "1, 1, 4, 5, 2")
        );
    }
}
