//! What is in a deck, counted without keeping any of it: the memory that its model needs is known before it is read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::lexer::Source;
use super::pieces::{FIRST, end_of_block, lines_of};
use crate::system::held::{self, HeldMesh};
use crate::system::parallel::iterate::*;

/// Files that are included within each other.
const MOST_DEEP: usize = 8;

/// Nodes and connections of a deck, with those of parts once for each instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Nodes.
    pub nodes: u64,
    /// Nodes of all elements.
    pub connections: u64,
    /// There are elements in space.
    pub is_solid: bool,
}

impl Counts {
    /// Counts a deck and what it includes; nothing of a file that is no deck or cannot be read, which its reader says.
    pub fn of(path: &Path) -> Self {
        if let Some(mesh) = held::mesh(path) {
            return Self::of_mesh(&mesh);
        }
        // A stream can be read once.
        if !path.is_file() {
            return Self::default();
        }
        let mut counter = Counter::default();
        counter.file(path, 0);
        counter.sum()
    }

    fn of_mesh(mesh: &HeldMesh) -> Self {
        let connections = mesh.groups.iter().map(|group| (*group.nodes).as_ref().len() as u64).sum();
        let is_solid = mesh.groups.iter().any(|group| group.kind.to_uppercase().starts_with("C3D"));
        Self { nodes: mesh.n_points() as u64, connections, is_solid }
    }

    fn data(&mut self, lines: Lines, line: &[u8]) {
        match lines {
            Lines::Nodes => self.nodes += 1,
            // A label, and a comma before each node; one at the end says that the element goes on.
            Lines::Elements => self.connections += memchr::memchr_iter(b',', line).count() as u64,
            Lines::Others => {}
        }
    }

    fn add(&mut self, other: Self, times: u64) {
        self.nodes += other.nodes * times;
        self.connections += other.connections * times;
        self.is_solid |= other.is_solid;
    }
}

/// What the lines under a keyword are.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Lines {
    Nodes,
    Elements,
    #[default]
    Others,
}

#[derive(Default)]
struct Counter {
    /// Of the part that is being read, or outside of parts.
    now: Counts,
    /// Outside of parts.
    here: Counts,
    /// By name in upper case.
    parts: HashMap<String, Counts>,
    instances: Vec<String>,
    part: Option<String>,
}

impl Counter {
    fn sum(mut self) -> Counts {
        self.leave();
        let mut all = self.here;
        for (name, counts) in &self.parts {
            let times = self.instances.iter().filter(|instance| *instance == name).count() as u64;
            all.add(*counts, if self.instances.is_empty() { 1 } else { times });
        }
        all
    }

    fn file(&mut self, path: &Path, depth: usize) {
        let Ok(source) = Source::open(path) else { return };
        let bytes = source.bytes();
        let (mut lines, mut start) = (Lines::Others, 0);
        while start < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |at| start + at);
            let line = bytes[start..end].trim_ascii();
            start = end + 1;
            match line {
                [] | [b'*', b'*', ..] => {}
                [b'*', keyword @ ..] => {
                    lines = self.keyword(&String::from_utf8_lossy(keyword), path, depth);
                    if lines != Lines::Others {
                        start = self.long_block(lines, bytes, start);
                    }
                }
                _ => self.now.data(lines, line),
            }
        }
    }

    /// A part begins or ends.
    fn leave(&mut self) {
        let now = std::mem::take(&mut self.now);
        let counts = match self.part.take() {
            Some(part) => self.parts.entry(part).or_default(),
            None => &mut self.here,
        };
        counts.add(now, 1);
    }

    /// Counts a long block from `start` on by all threads, and gives its end; gives `start` where the block is short.
    fn long_block(&mut self, lines: Lines, bytes: &[u8], start: usize) -> usize {
        let end = end_of_block(bytes, start.min(bytes.len()), bytes.len());
        if end < start + FIRST {
            return start;
        }
        let count = |piece: &[u8]| {
            let mut counts = Counts::default();
            for line in piece.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
                match line {
                    [] | [b'*', ..] => {}
                    _ => counts.data(lines, line),
                }
            }
            counts
        };
        let pieces: Vec<Counts> = lines_of(&bytes[start..end]).into_par_iter().map(count).collect();
        pieces.into_iter().for_each(|counts| self.now.add(counts, 1));
        end
    }

    fn keyword(&mut self, line: &str, path: &Path, depth: usize) -> Lines {
        let mut words = line.split(',').map(str::trim);
        let name: String =
            words.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase();
        let value = |key: &str| {
            let found = line
                .split(',')
                .skip(1)
                .filter_map(|word| word.split_once('='))
                .find(|(name, _)| name.trim().eq_ignore_ascii_case(key));
            found.map(|(_, value)| value.trim().trim_matches('"').to_owned())
        };
        match name.as_str() {
            "NODE" => return Lines::Nodes,
            "ELEMENT" => {
                let kind = value("TYPE").unwrap_or_default().to_uppercase();
                self.now.is_solid |= kind.starts_with("C3D");
                return Lines::Elements;
            }
            "PART" => {
                self.leave();
                self.part = Some(value("NAME").unwrap_or_default().to_uppercase());
            }
            "END PART" => self.leave(),
            "INSTANCE" => self.instances.extend(value("PART").map(|part| part.to_uppercase())),
            "INCLUDE" if depth < MOST_DEEP => {
                if let Some(input) = value("INPUT") {
                    let beside: PathBuf = path.parent().unwrap_or(Path::new("")).join(input);
                    if beside.is_file() {
                        self.file(&beside, depth + 1);
                    }
                }
            }
            _ => {}
        }
        Lines::Others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_and_includes_count() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        write("more.inp", "*NODE\n3, 1, 0\n\n** no node\n4, 0, 1\n");
        let flat = "*Heading\n1, 2\n*Node, NSET=ALL\n1, 0, 0\n2, 1, 1\n*INCLUDE, INPUT=more.inp\n*ELEMENT, TYPE=CPE4\n7, 1, 2, 3,\n4\n*NSET, NSET=A\n1, 2\n";
        let expected = Counts { nodes: 4, connections: 4, is_solid: false };
        let found = Counts::of(&write("flat.inp", flat));
        // The comma at the end of the first line stands before the last node.
        assert_eq!(found, expected);
        let parts = "*PART, NAME=p\n*NODE\n1,0,0,0\n2,0,0,1\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 1, 2\n*END PART\n*PART, NAME=q\n*NODE\n1,0,0,0\n\
             *END PART\n*ASSEMBLY\n*INSTANCE, NAME=a, PART=P\n*END INSTANCE\n*INSTANCE, NAME=b, PART=p\n1, 0, 0\n*END INSTANCE\n*END ASSEMBLY\n";
        assert_eq!(Counts::of(&write("parts.inp", parts)), Counts { nodes: 4, connections: 8, is_solid: true });
        assert_eq!(Counts::of(&folder.path().join("none.inp")), Counts::default());
    }
    #[test]
    fn long_blocks_count_as_short_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.inp");
        let n = 30_000_u32;
        let counted = |odd: &str| {
            let nodes: String = (1..=n).map(|k| format!("{k}, {}, 0.5, 1.25\n", 0.001 * f64::from(k))).collect();
            let elements: String = (1..=n).map(|k| format!("{k}, 1, 2,\n 3, 4\n{odd}")).collect();
            let text = format!("*NODE\n{nodes}\n** no node\n*ELEMENT, TYPE=C3D4\n{elements}*NSET, NSET=A\n1, 2\n");
            std::fs::write(&path, text).unwrap();
            Counts::of(&path)
        };
        let all = Counts { nodes: n.into(), connections: 4 * u64::from(n), is_solid: true };
        assert_eq!(counted(""), all);
        assert_eq!(counted("\n** a comment,\n"), all);
        // A keyword behind a blank ends the block of nodes or elements.
        assert_eq!(counted(" *NSET, NSET=B\n"), Counts { connections: 4, ..all });
    }
}
