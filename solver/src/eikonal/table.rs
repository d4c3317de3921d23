//! Tables of many sets of starts.

use std::collections::HashMap;
use std::path::Path;

use pogo_formats::eikonal::setup::StartRegion;
use pogo_formats::eikonal::{EikonalMeshView, nodes_of, outside};
use pogo_formats::read::CsvTable;
use pogo_formats::words::counted;
use rstar::RTree;
use rstar::primitives::GeomWithData;

use super::starts::earliest;

/// One set of starts of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StartSet {
    /// Name of the case.
    pub name: String,
    /// Start nodes with their times.
    pub starts: Vec<(u32, f64)>,
}

/// A table of sets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StartTable {
    /// The sets.
    pub sets: Vec<StartSet>,
    /// Points outside the mesh: the first, and how many more.
    pub warnings: Vec<String>,
}

/// Reads a table of start sets: a [`CsvTable`] with `node` (labels) or `x`, `y`, `z` (nearest node), and perhaps `case` and
/// `time`. Rows of the same case make one set; without `case` each row is a set. `unit` is that of the mesh's lengths.
///
/// # Errors
/// `file:line: error: …`.
pub(super) fn read_table(path: &Path, mesh: &EikonalMeshView<'_>, unit: &str) -> Result<StartTable, String> {
    let known = ["case", "node", "x", "y", "z", "time"];
    let table = CsvTable::read(path, &known, ("start sets", "case,node,time"))?;
    let columns = Columns::new(&table, mesh.plane).map_err(|message| table.error(table.heading, &message))?;
    let places = Places::new(mesh, &columns.place);
    let mut sets = Sets::default();
    let mut far: Vec<String> = Vec::new();
    for (line, fields) in &table.rows {
        let wrong = |message: String| table.error(*line, &message);
        let row = columns.row(&table, fields).map_err(wrong)?;
        let node = places.node(&row).map_err(wrong)?;
        if let RowPlace::Point(point) = row.place {
            far.extend(outside(mesh, unit, point, node).map(|text| format!("{}: {text}", table.place(*line))));
        }
        sets.add(row.case, node, row.time);
    }
    let n_more = far.len().saturating_sub(1);
    far.truncate(1);
    if n_more > 0 {
        far.push(format!("{} outside the mesh", counted(n_more, "more start point")));
    }
    Ok(StartTable { sets: sets.all.into_iter().map(StartSet::sorted).collect(), warnings: far })
}

impl StartSet {
    fn sorted(self) -> Self {
        Self { starts: earliest(self.starts), ..self }
    }
}

/// Columns of the table by what they hold.
struct Columns {
    case: Option<usize>,
    time: Option<usize>,
    place: PlaceColumns,
}

/// Columns that say where a start is.
enum PlaceColumns {
    Label(usize),
    /// x, y and, but in the plane, z.
    Point([Option<usize>; 3]),
}

/// A row of the table.
struct Row {
    case: Option<String>,
    time: f64,
    place: RowPlace,
}

enum RowPlace {
    Label(String),
    Point([f64; 3]),
}

impl Columns {
    fn new(table: &CsvTable, plane: bool) -> Result<Self, String> {
        let place = match (table.column("node"), ["x", "y", "z"].map(|name| table.column(name))) {
            (Some(node), [None, None, None]) => PlaceColumns::Label(node),
            (None, [Some(x), Some(y), z]) if z.is_some() || plane => PlaceColumns::Point([Some(x), Some(y), z]),
            _ => return Err("the columns must hold `node`, or `x`, `y` and `z`".into()),
        };
        Ok(Self { case: table.column("case"), time: table.column("time"), place })
    }

    fn row(&self, table: &CsvTable, fields: &[String]) -> Result<Row, String> {
        let number = |at: usize| table.number(&fields[at]);
        let place = match self.place {
            PlaceColumns::Label(at) => RowPlace::Label(fields[at].clone()),
            PlaceColumns::Point(columns) => {
                let mut point = [0.0; 3];
                for (x, column) in point.iter_mut().zip(columns) {
                    *x = column.map(number).transpose()?.unwrap_or(0.0);
                }
                RowPlace::Point(point)
            }
        };
        let time = self.time.map(number).transpose()?.unwrap_or(0.0);
        Ok(Row { case: self.case.map(|at| fields[at].clone()), time, place })
    }
}

/// Finds the nodes of rows.
struct Places<'a> {
    mesh: &'a EikonalMeshView<'a>,
    /// Nodes that elements use, for points.
    tree: Option<RTree<GeomWithData<[f64; 3], u32>>>,
    /// Nodes by label, where there are no instances.
    labels: HashMap<u32, u32>,
}

impl<'a> Places<'a> {
    fn new(mesh: &'a EikonalMeshView<'a>, columns: &PlaceColumns) -> Self {
        let (mut tree, mut labels) = (None, HashMap::new());
        match columns {
            PlaceColumns::Point(_) => {
                let nodes = (0..mesh.n_nodes()).filter(|&node| !mesh.round(node).is_empty());
                let points = nodes.map(|node| GeomWithData::new(mesh.point(node), node as u32));
                tree = Some(RTree::bulk_load(points.collect()));
            }
            PlaceColumns::Label(_) if mesh.instances.is_empty() => {
                labels = mesh.node_labels.iter().enumerate().map(|(node, &label)| (label, node as u32)).collect();
            }
            PlaceColumns::Label(_) => {}
        }
        Self { mesh, tree, labels }
    }

    fn node(&self, row: &Row) -> Result<u32, String> {
        match &row.place {
            RowPlace::Point(point) => {
                let nearest = self.tree.as_ref().and_then(|tree| tree.nearest_neighbor(*point));
                nearest.map(|found| found.data).ok_or_else(|| "the mesh is empty".into())
            }
            RowPlace::Label(text) => match text.parse().ok().and_then(|label: u32| self.labels.get(&label)) {
                Some(&node) => Ok(node),
                None => {
                    let nodes = nodes_of(self.mesh, &StartRegion::Label(text.clone()));
                    nodes.map(|nodes| nodes[0]).map_err(|error| error.to_string())
                }
            },
        }
    }
}

/// Sets of starts in the order in which they come.
#[derive(Default)]
struct Sets {
    all: Vec<StartSet>,
    by_case: HashMap<String, usize>,
}

impl Sets {
    /// Adds a start to the set of its case; a row without a case is a set of its own.
    fn add(&mut self, case: Option<String>, node: u32, time: f64) {
        let next = self.all.len();
        let at = match &case {
            None => next,
            Some(case) => *self.by_case.entry(case.clone()).or_insert(next),
        };
        match self.all.get_mut(at) {
            Some(set) => set.starts.push((node, time)),
            None => {
                let name = case.unwrap_or_else(|| (next + 1).to_string());
                self.all.push(StartSet { name, starts: vec![(node, time)] });
            }
        }
    }
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
