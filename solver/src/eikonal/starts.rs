//! Start nodes and their times: those of the model, and tables of many sets.

use std::path::Path;

use pogo_formats::eikonal::setup::{Start, StartRegion};
use pogo_formats::eikonal::{EikonalMeshView, EikonalSetup, nodes_of, outside};
use pogo_formats::words::counted;
use rstar::RTree;
use rstar::primitives::GeomWithData;

/// Nodes with the earliest of their start times, ascending by node.
///
/// # Errors
/// A start without a node, in words.
pub fn resolve(mesh: &EikonalMeshView, starts: &[Start]) -> Result<Vec<(u32, f64)>, String> {
    let mut all: Vec<(u32, f64)> = Vec::new();
    for start in starts {
        let nodes = nodes_of(mesh, &start.region).map_err(|error| format!("start \"{}\": {error}", start.name))?;
        if !start.time.is_finite() {
            return Err(format!("start \"{}\": its time is no finite number", start.name));
        }
        all.extend(nodes.into_iter().map(|node| (node, start.time)));
    }
    Ok(earliest(all))
}

/// Starts by a point that is [`outside`].
pub fn far_away(mesh: &EikonalMeshView, setup: &EikonalSetup) -> Vec<String> {
    let far = |start: &Start| {
        let StartRegion::Nearest(point) = start.region else { return None };
        let node = *nodes_of(mesh, &start.region).ok()?.first()?;
        Some(format!("start \"{}\": {}", start.name, outside(mesh, &setup.length_unit, point, node)?))
    };
    setup.starts.iter().filter_map(far).collect()
}

fn earliest(mut all: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all.dedup_by_key(|(node, _)| *node);
    all
}

/// One set of starts of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct StartSet {
    /// Name of the case.
    pub name: String,
    /// Nodes and times.
    pub starts: Vec<(u32, f64)>,
}

/// A table of sets.
#[derive(Debug, Clone, PartialEq)]
pub struct StartTable {
    /// The sets.
    pub sets: Vec<StartSet>,
    /// Points outside the mesh: the first, and how many more.
    pub warnings: Vec<String>,
}

/// Reads a table of start sets: CSV with a heading of `node` (labels) or `x`, `y`, `z` (nearest node), and perhaps `case` and
/// `time`. Rows of the same case make one set; without `case` each row is a set. `#` begins a comment. Fields may be in double
/// quotes, and separated by semicolons (with decimal commas) or tabs as the heading is.
///
/// # Errors
/// `file:line: error: …`.
pub fn read_table(path: &Path, mesh: &EikonalMeshView, unit: &str) -> Result<StartTable, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: error: {error}", path.display()))?;
    let text = String::from_utf8(text)
        .map_err(|_| format!("{}: error: it is no text; a CSV table of start sets is expected", path.display()))?;
    // Spreadsheets write a mark before the first column's name.
    let text = text.trim_start_matches('\u{feff}');
    let wrong = |line: usize, message: String| format!("{}:{line}: error: {message}", path.display());
    let mut rows = (1..)
        .zip(text.lines())
        .map(|(number, line): (usize, &str)| (number, line.split('#').next().unwrap_or_default().trim()));
    let Some((line, heading)) = rows.find(|(_, line)| !line.is_empty()) else {
        return Err(wrong(1, "the table is empty; its first line names the columns, such as case,node,time".into()));
    };
    let separator = [';', '\t'].into_iter().find(|&other| heading.contains(other)).unwrap_or(',');
    let names: Vec<String> = fields(heading, separator).iter().map(|name| name.to_ascii_lowercase()).collect();
    if let Some(unknown) = names.iter().find(|name| !["case", "node", "x", "y", "z", "time"].contains(&name.as_str())) {
        return Err(wrong(line, format!("column `{unknown}` is none of case, node, x, y, z, time")));
    }
    let column = |name: &str| names.iter().position(|found| found == name);
    let (case, node, time) = (column("case"), column("node"), column("time"));
    let point = [column("x"), column("y"), column("z")];
    let by_point = match (node, point) {
        (Some(_), [None, None, None]) => None,
        (None, [Some(x), Some(y), z]) if z.is_some() || mesh.plane => Some([Some(x), Some(y), z]),
        _ => return Err(wrong(line, "the columns must hold `node`, or `x`, `y` and `z`".into())),
    };
    let tree = by_point.map(|_| nodes_with_elements(mesh));
    let mut labels = std::collections::HashMap::new();
    let mut sets: Vec<StartSet> = Vec::new();
    let mut far: Vec<String> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for (line, row) in rows.filter(|(_, row)| !row.is_empty()) {
        let fields = fields(row, separator);
        if fields.len() != names.len() {
            return Err(wrong(line, format!("{} fields under {} headings", fields.len(), names.len())));
        }
        let number = |at: usize| {
            let text = if separator == ';' { fields[at].replace(',', ".") } else { fields[at].clone() };
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            value.ok_or_else(|| wrong(line, format!("`{}` is no finite number", fields[at])))
        };
        let found = match (&tree, by_point, node) {
            (Some(tree), Some(columns), _) => {
                let mut x = [0.0; 3];
                for (x, column) in x.iter_mut().zip(columns) {
                    if let Some(column) = column {
                        *x = number(column)?;
                    }
                }
                let nearest = tree.nearest_neighbor(x).map(|found| found.data);
                let nearest = nearest.ok_or_else(|| wrong(line, "the mesh is empty".into()))?;
                far.extend(outside(mesh, unit, x, nearest).map(|text| format!("{}:{line}: {text}", path.display())));
                nearest
            }
            (_, _, Some(at)) => {
                if labels.is_empty() && mesh.instances.is_empty() {
                    labels = mesh.node_labels.iter().enumerate().map(|(node, &label)| (label, node as u32)).collect();
                }
                match fields[at].parse().ok().and_then(|label: u32| labels.get(&label)) {
                    Some(&node) => node,
                    None => nodes_of(mesh, &StartRegion::Label(fields[at].clone()))
                        .map_err(|error| wrong(line, error.to_string()))?[0],
                }
            }
            _ => return Err(wrong(line, "no place".into())),
        };
        let time = time.map(number).transpose()?.unwrap_or(0.0);
        let name = case.map_or_else(|| (sets.len() + 1).to_string(), |at| fields[at].clone());
        let at = match case {
            None => sets.len(),
            Some(_) => *index.entry(name.clone()).or_insert(sets.len()),
        };
        match sets.get_mut(at) {
            Some(set) => set.starts.push((found, time)),
            None => sets.push(StartSet { name, starts: vec![(found, time)] }),
        }
    }
    if sets.is_empty() {
        return Err(wrong(line, "there is no row under the heading".into()));
    }
    for set in &mut sets {
        set.starts = earliest(std::mem::take(&mut set.starts));
    }
    let n_more = far.len().saturating_sub(1);
    far.truncate(1);
    if n_more > 0 {
        far.push(format!("{} outside the mesh", counted(n_more, "more start point")));
    }
    Ok(StartTable { sets, warnings: far })
}

/// Fields of a line without the blanks round them; in double quotes a separator is a character, and two quotes are one.
fn fields(line: &str, separator: char) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let (Some(character), Some(field)) = (characters.next(), fields.last_mut()) {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' => quoted = !quoted,
            _ if character == separator && !quoted => fields.push(String::new()),
            _ => field.push(character),
        }
    }
    fields.iter().map(|field| field.trim().to_owned()).collect()
}

fn nodes_with_elements(mesh: &EikonalMeshView) -> RTree<GeomWithData<[f64; 3], u32>> {
    let nodes = (0..mesh.n_nodes()).filter(|&node| !mesh.round(node).is_empty());
    RTree::bulk_load(nodes.map(|node| GeomWithData::new(mesh.point(node), node as u32)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pogo_formats::eikonal::EikonalMesh;

    #[test]
    fn tables_by_node_and_by_point() {
        let mut mesh = EikonalMesh {
            corners: 4,
            coordinates: [[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.]].concat(),
            elements: vec![0, 1, 2, 3],
            original_node: vec![0, 1, 2, 3],
            original_element: vec![0],
            node_labels: vec![10, 20, 30, 40],
            ..Default::default()
        };
        mesh.connect(4);
        let view = mesh.view();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.csv");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_table(&path, &view, "mm")
        };
        let sets = read("\u{feff}case,node,time\na,20,1\n# no\nb,30,0\na,10,2.5\na,20,0.5\n").unwrap().sets;
        assert_eq!(sets[0], StartSet { name: "a".into(), starts: vec![(0, 2.5), (1, 0.5)] });
        assert_eq!(sets[1].starts, [(2, 0.0)]);
        let quoted = read("\"case\";\"node\";\"time\"\n\"a; \"\"b\"\"\";20;1,5\n").unwrap().sets;
        assert_eq!(quoted, [StartSet { name: "a; \"b\"".into(), starts: vec![(1, 1.5)] }]);
        assert_eq!(read("case\tnode\na\t20\n").unwrap().sets[0].starts, [(1, 0.0)]);
        let StartTable { sets, warnings } = read("x, y, z\n0.9, 0, 0\n0,0,5\n0,9,0\n").unwrap();
        let said = warnings[0].split_once("s.csv").unwrap().1;
        assert_eq!(said, ":3: [0.0, 0.0, 5.0] lies outside the mesh, 4.0000 mm from its nearest node 40");
        assert_eq!(warnings[1..], ["1 more start point outside the mesh"]);
        assert_eq!((sets[0].starts[0], sets[1].starts[0]), ((1, 0.0), (3, 0.0)));
        assert_eq!(sets[1].name, "2");
        for (text, expected) in [
            ("", ":1: error: the table is empty"),
            ("node,when\n", "column `when`"),
            ("x,y\n1,2\n", "must hold"),
            ("node\n7\n", ":2: error: there is no node 7"),
            ("node,time\n10\n", "1 fields under 2"),
            ("node,time\n10,nan\n", "no finite number"),
            ("node\n", "no row"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
