//! The corpus of the fuzz target, as it is and mutated: no panic, no hang.

use std::path::{Path, PathBuf};

use pogo_formats::read::deck::{ReadOptions, read_bytes};
use proptest::prelude::*;

fn corpus() -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus/deck");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    assert!(files.len() >= 5, "{}", folder.display());
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// As `tests/fuzz/fuzz_targets/deck.rs`; true when the deck was read whole.
fn run(bytes: &[u8]) -> bool {
    let mut whole = false;
    let springs = ReadOptions { lines: true, ..ReadOptions::default() };
    if let Ok(deck) = read_bytes(Path::new("fuzz.inp"), bytes, &springs) {
        let n = deck.mesh.n_nodes();
        assert!(deck.lines.nodes.iter().flatten().all(|node| (*node as usize) < n));
        let named = deck.lines.sets.iter().flat_map(|set| &set.members);
        assert!(
            named
                .chain(deck.lines.properties.iter().flat_map(|p| &p.lines))
                .all(|l| (*l as usize) < deck.lines.nodes.len())
        );
    }
    for job in [false, true] {
        let options =
            ReadOptions { job_sets_time: job, require_step: !job, split_second_order: job, ..ReadOptions::default() };
        match read_bytes(Path::new("fuzz.inp"), bytes, &options) {
            Ok(mut deck) => {
                if job && !deck.sections.is_empty() {
                    deck.assign_section(None, 0);
                }
                match deck.finish() {
                    Ok((model, _)) => {
                        check(&model);
                        whole = true;
                    }
                    Err(error) => assert!(!error.problems.is_empty()),
                }
            }
            Err(error) => {
                assert!(!error.problems.is_empty());
                assert!(!error.to_string().is_empty());
            }
        }
    }
    whole
}

/// Every index of a model that was read whole is in range.
fn check(model: &pogo_formats::explicit::Model) {
    use pogo_formats::dynamics::LoadKind;
    let (mesh, setup) = (&model.mesh, &model.setup);
    let (n_nodes, n_elements) = (mesh.n_nodes() as u32, mesh.n_elements() as u32);
    assert_eq!(mesh.coordinates.len(), mesh.n_nodes() * mesh.dimension as usize);
    assert_eq!(mesh.node_instance.len(), mesh.n_nodes());
    assert!(mesh.coordinates.iter().all(|x| x.is_finite()));
    for group in &mesh.groups {
        assert_eq!(group.connectivity.len(), group.len() * group.kind.n_nodes());
        assert_eq!((group.section.len(), group.instance.len()), (group.len(), group.len()));
        assert!(group.connectivity.iter().all(|node| *node < n_nodes));
        assert!(group.section.iter().all(|section| (*section as usize) < setup.sections.len()));
        assert_eq!(group.kind.dimension(), mesh.dimension as usize);
    }
    let nodes = |list: &[u32]| list.iter().all(|node| *node < n_nodes);
    let elements = |list: &[u32]| list.iter().all(|element| *element < n_elements);
    assert!(mesh.node_sets.iter().all(|set| nodes(&set.members)));
    assert!(mesh.element_sets.iter().all(|set| elements(&set.members)));
    assert!(setup.sections.iter().all(|section| (section.material as usize) < setup.materials.len()));
    let amplitude = |index: Option<u32>| index.is_none_or(|i| (i as usize) < setup.amplitudes.len());
    for load in &setup.loads {
        assert!(amplitude(load.amplitude));
        match &load.kind {
            LoadKind::Concentrated { nodes: list, .. } | LoadKind::Volume { nodes: list, .. } => assert!(nodes(list)),
            LoadKind::Pressure { faces, elements: list } | LoadKind::Traction { faces, elements: list, .. } => {
                assert_eq!(faces.len(), list.len());
                assert!(elements(list));
                assert!(faces.iter().flatten().all(|node| *node < n_nodes || *node == u32::MAX));
            }
            LoadKind::Body { elements: list, .. } | LoadKind::Gravity { elements: list, .. } => assert!(elements(list)),
        }
    }
    assert!(setup.boundaries.iter().all(|b| nodes(&b.nodes) && amplitude(b.amplitude)));
    assert!(setup.boundaries.iter().all(|b| u32::from(b.component) < mesh.dimension));
    assert!(setup.histories.iter().all(|h| nodes(&h.nodes)));
}

#[test]
fn the_corpus_is_read_or_refused() {
    let whole = corpus().iter().filter(|deck| run(deck)).count();
    assert!(whole >= 3, "only {whole} decks of the corpus are read whole");
}

/// One change of a deck.
#[derive(Debug, Clone)]
enum Change {
    Byte(usize, u8),
    Cut(usize, usize),
    Repeat(usize, usize),
    /// A line goes elsewhere.
    Move(usize, usize),
    Insert(usize, &'static str),
    /// A number becomes another.
    Number(usize, &'static str),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<usize>;
    let token = prop::sample::select(vec![
        "4294967295",
        "4294967296",
        "1e400",
        "-1",
        "0",
        "nan",
        ",",
        "*",
        "**",
        "\"",
        "=",
        "\n",
        ".",
        "*Include, input=.",
        "1, 4294967295, 1",
        "generate",
        "*Elset, elset=PLATE",
        "*Nset, nset=ALL, generate",
        "*Element, type=C3D8",
        "*Node",
        "*End",
        "*Step",
        "*Part, name=Bar",
        "*Instance, name=X, part=Bar",
        "*End Part",
        "*Solid Section, elset=PLATE, material=STEEL",
        "*Element, type=CPE4, elset=PLATE",
    ]);
    let number = prop::sample::select(vec!["0", "4294967295", "1e308", "-0.", "2", "3", "1e-320", "99"]);
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(i, b)| Change::Byte(i, b)),
        (at(), 0usize..80).prop_map(|(i, n)| Change::Cut(i, n)),
        (at(), 0usize..120).prop_map(|(i, n)| Change::Repeat(i, n)),
        (at(), at()).prop_map(|(a, b)| Change::Move(a, b)),
        (at(), token).prop_map(|(i, t)| Change::Insert(i, t)),
        (at(), number).prop_map(|(i, t)| Change::Number(i, t)),
    ]
}

fn apply(deck: &mut Vec<u8>, change: &Change) {
    let n = deck.len().max(1);
    match change {
        Change::Byte(i, b) => {
            if let Some(byte) = deck.get_mut(i % n) {
                *byte = *b;
            }
        }
        Change::Cut(i, length) => {
            let start = (i % n).min(deck.len());
            deck.drain(start..(start + length).min(deck.len()));
        }
        Change::Repeat(i, length) => {
            let start = (i % n).min(deck.len());
            let piece = deck[start..(start + length).min(deck.len())].to_vec();
            deck.splice(start..start, piece);
        }
        Change::Move(from, to) => {
            let mut lines: Vec<Vec<u8>> = deck.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            let line = lines.remove(from % lines.len());
            let to = to % (lines.len() + 1);
            lines.insert(to, line);
            *deck = lines.join(&b'\n');
        }
        Change::Insert(i, token) => {
            let start = (i % n).min(deck.len());
            let start = deck[..start].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
            deck.splice(start..start, format!("{token}\n").into_bytes());
        }
        Change::Number(i, token) => {
            let numbers: Vec<usize> = (0..deck.len())
                .filter(|at| deck[*at].is_ascii_digit() && (*at == 0 || !deck[*at - 1].is_ascii_alphanumeric()))
                .collect();
            if let Some(start) = numbers.get(i % numbers.len().max(1)) {
                let length = deck[*start..].iter().take_while(|b| b.is_ascii_digit()).count();
                deck.splice(*start..start + length, token.bytes());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn mutated_decks_are_read_or_refused(at in any::<prop::sample::Index>(), changes in prop::collection::vec(change(), 1..6)) {
        let corpus = corpus();
        let mut deck = at.get(&corpus).clone();
        for change in &changes {
            apply(&mut deck, change);
        }
        run(&deck);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        run(&bytes);
    }
}
