//! Writes model files of P. Huthwaite's Pogo, of every version from 1.00 to 1.15 and beyond, in both precisions.

/// A value of the metadata.
#[derive(Debug, Clone)]
pub enum Meta {
    /// `string`
    Text(String),
    /// `double`
    Numbers(Vec<f64>),
    /// `int32`
    Integers(Vec<i32>),
}

/// A signal: type 0 force, 1 displacement, 2 velocity.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct Signal {
    pub kind: i32,
    pub of_groups: bool,
    /// 4 · node + component, or numbers of groups.
    pub dofs: Vec<u64>,
    pub amplitudes: Vec<f64>,
    pub samples: Vec<f64>,
}

/// A model as its file has it: all indices count from 0.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct PogoModel {
    pub metadata: Vec<(String, Meta)>,
    pub dimension: usize,
    pub dofs_a_node: usize,
    pub notes: String,
    pub run_name: String,
    pub n_increments: u32,
    pub increment: f64,
    pub positions: Vec<f64>,
    pub nodes_each: usize,
    pub types: Vec<i32>,
    pub material_of: Vec<i32>,
    pub orientation_of: Vec<i32>,
    pub connectivity: Vec<u32>,
    pub type_names: Vec<String>,
    /// Parent, type, values.
    pub materials: Vec<(i32, i32, Vec<f64>)>,
    pub orientations: Vec<Vec<f64>>,
    pub fixed: Vec<u64>,
    /// Transform, masters, slaves.
    pub ties: Vec<(Vec<f64>, Vec<u32>, Vec<u32>)>,
    pub groups: Vec<(Vec<u64>, Vec<f64>)>,
    /// Sampling interval and signals.
    pub shots: Vec<(f64, Vec<Signal>)>,
    pub every: i32,
    pub first: i32,
    /// Name, whether it is of groups, codes.
    pub sets: Vec<(String, bool, Vec<u64>)>,
    pub fields: Vec<i32>,
    pub field_nodes: Option<Vec<u32>>,
    /// For each division what is sent and what is received.
    pub exchange: Vec<(Vec<u32>, Vec<u32>)>,
    /// A section that no reader knows, before the nodes.
    pub strange_section: bool,
}

/// The code of a component of a node.
pub fn dof(node: u32, component: u64) -> u64 {
    4 * u64::from(node) + component
}

impl PogoModel {
    /// nx × ny squares of 1 mm, CPE4R of steel, clamped at x = 0, with a burst at the last node and a set of two traces.
    pub fn plate(nx: u32, ny: u32) -> Self {
        let node = |i: u32, j: u32| j * (nx + 1) + i;
        let places = (0..=ny).flat_map(|j| (0..=nx).map(move |i| (i, j)));
        let cells = (0..ny).flat_map(|j| (0..nx).map(move |i| (i, j)));
        let n = (nx * ny) as usize;
        let (last, dt) = ((nx + 1) * (ny + 1) - 1, 1e-7);
        let samples: Vec<f64> = (0..30).map(|k| (0.2 * f64::from(k)).sin() * f64::from(29 - k) / 30.0).collect();
        let push = Signal { kind: 0, of_groups: false, dofs: vec![dof(last, 1)], amplitudes: vec![2.0], samples };
        Self {
            metadata: vec![
                ("owner".into(), Meta::Text("A. Nother".into())),
                ("temperature".into(), Meta::Numbers(vec![20.5])),
                ("counts".into(), Meta::Integers(vec![1, 2, 3])),
            ],
            dimension: 2,
            dofs_a_node: 2,
            notes: "a plate".into(),
            run_name: "plate".into(),
            n_increments: 60,
            increment: dt,
            positions: places.flat_map(|(i, j)| [1e-3 * f64::from(i), 1e-3 * f64::from(j)]).collect(),
            nodes_each: 4,
            types: vec![0; n],
            material_of: vec![0; n],
            orientation_of: vec![-1; n],
            connectivity: cells
                .flat_map(|(i, j)| [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)])
                .collect(),
            type_names: vec!["CPE4R".into()],
            materials: vec![(-1, 0, vec![210e9, 0.3, 8000.0])],
            orientations: Vec::new(),
            fixed: (0..=ny).flat_map(|j| [dof(node(0, j), 0), dof(node(0, j), 1)]).collect(),
            ties: Vec::new(),
            groups: Vec::new(),
            shots: vec![(dt, vec![push])],
            every: 1,
            first: 0,
            sets: vec![("main".into(), false, vec![dof(last, 1), dof(nx, 0)])],
            fields: vec![19, 59],
            field_nodes: None,
            exchange: Vec::new(),
            strange_section: false,
        }
    }

    /// The bytes of version 1.`version` with reals of `precision` bytes; what that version does not have is left out.
    pub fn bytes(&self, version: u32, precision: usize) -> Vec<u8> {
        let mut out = Writer { bytes: Vec::new(), version, precision };
        if version >= 12 {
            out.text("%pogo-inp", 20);
            out.ints(&[1, version as i32]);
        } else {
            let header = if version == 0 { "%pogo-inp1.0".to_owned() } else { format!("%pogo-inp1.{version:02}") };
            out.text(&header, 20);
        }
        if version >= 11 {
            out.section("metadata", |out| self.metadata(out));
        }
        out.section("generalInfo", |out| {
            out.ints(&[precision as i32, self.dimension as i32]);
            if version >= 2 {
                out.ints(&[self.dofs_a_node as i32]);
            }
            out.text(&self.notes, 1024);
            out.text(&self.run_name, 80);
            out.unsigned(&[self.n_increments]);
            out.reals(&[self.increment]);
        });
        if self.strange_section && version >= 14 {
            out.section("strange", |out| out.ints(&[1, 2, 3]));
        }
        out.section("nodes", |out| {
            out.ints(&[(self.positions.len() / self.dimension) as i32]);
            out.reals(&self.positions);
        });
        out.section("elements", |out| {
            out.ints(&[self.types.len() as i32, self.nodes_each as i32]);
            [&self.types, &self.material_of, &self.orientation_of].into_iter().for_each(|list| out.ints(list));
            out.unsigned(&self.connectivity);
        });
        if version >= 3 {
            out.section("pml", |out| out.ints(&[0, 0]));
        }
        self.tables(&mut out);
        self.conditions(&mut out);
        if version >= 15 {
            out.section("mpi", |out| {
                out.ints(&[self.exchange.len() as i32, 0]);
                for (sent, received) in &self.exchange {
                    for list in [sent, received] {
                        out.ints(&[list.len() as i32]);
                        out.unsigned(list);
                    }
                }
            });
        }
        out.bytes
    }

    fn metadata(&self, out: &mut Writer) {
        let start = out.bytes.len();
        if out.version < 14 {
            out.ints(&[0]);
        }
        out.ints(&[self.metadata.len() as i32]);
        for (name, value) in &self.metadata {
            out.ints(&[name.len() as i32 + 1]);
            let words = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
            let text = match value {
                Meta::Text(text) => text.clone(),
                Meta::Numbers(numbers) => words(numbers),
                Meta::Integers(numbers) => words(&numbers.iter().copied().map(f64::from).collect::<Vec<_>>()),
            };
            if out.version < 13 {
                out.ints(&[text.len() as i32 + 1]);
                out.text(name, name.len() + 1);
                out.text(&text, text.len() + 1);
                continue;
            }
            out.text(name, name.len() + 1);
            let shape = |n: usize| if n == 1 { vec![0] } else { vec![2, 1, n as i32] };
            match value {
                Meta::Text(text) => {
                    out.text("string", 16);
                    out.ints(&[text.len() as i32 + 1]);
                    out.text(text, text.len() + 1);
                }
                Meta::Numbers(numbers) => {
                    out.text("double", 16);
                    out.ints(&shape(numbers.len()));
                    numbers.iter().for_each(|number| out.bytes.extend(number.to_le_bytes()));
                }
                Meta::Integers(numbers) => {
                    out.text("int32", 16);
                    out.ints(&shape(numbers.len()));
                    out.ints(numbers);
                }
            }
        }
        if out.version < 14 {
            let size = (out.bytes.len() - start - 4) as i32;
            out.bytes[start..start + 4].copy_from_slice(&size.to_le_bytes());
        }
    }

    fn tables(&self, out: &mut Writer) {
        out.section("elTypes", |out| {
            out.ints(&[self.type_names.len() as i32]);
            for name in &self.type_names {
                out.text(name, 20);
                out.ints(&[0, 0]);
            }
        });
        out.section("matTypes", |out| {
            out.ints(&[self.materials.len() as i32]);
            for (parent, kind, values) in &self.materials {
                if out.version >= 9 {
                    out.ints(&[*parent]);
                }
                out.ints(&[*kind, values.len() as i32]);
                out.reals(values);
            }
        });
        out.section("orientations", |out| {
            out.ints(&[self.orientations.len() as i32]);
            for values in &self.orientations {
                out.ints(&[0, values.len() as i32]);
                out.reals(values);
            }
        });
    }

    fn conditions(&self, out: &mut Writer) {
        out.section("fixDof", |out| {
            out.ints(&[self.fixed.len() as i32]);
            if out.version >= 10 {
                out.ints(&[0]);
            }
            out.codes(&self.fixed);
        });
        if out.version >= 6 {
            out.section("ties", |out| {
                out.ints(&[self.ties.len() as i32]);
                for (transform, masters, slaves) in &self.ties {
                    out.reals(transform);
                    out.ints(&[masters.len() as i32]);
                    out.unsigned(masters);
                    out.unsigned(slaves);
                }
            });
        }
        if out.version >= 8 {
            out.section("dofGroups", |out| {
                out.ints(&[self.groups.len() as i32]);
                for (dofs, weights) in &self.groups {
                    out.ints(&[dofs.len() as i32]);
                    out.codes(dofs);
                    out.reals(weights);
                }
            });
        }
        out.section("signals", |out| {
            if out.version >= 7 {
                out.ints(&[self.shots.len() as i32]);
            }
            for (interval, signals) in &self.shots {
                let samples = signals.first().map_or(0, |signal| signal.samples.len());
                out.ints(&[signals.len() as i32, samples as i32]);
                out.reals(&[*interval]);
                signals.iter().for_each(|signal| out.signal(signal));
            }
        });
        self.outputs(out);
    }

    fn outputs(&self, out: &mut Writer) {
        out.section("measurements", |out| {
            if out.version < 5 {
                let codes: Vec<u64> = self.sets.iter().flat_map(|set| &set.2).copied().collect();
                out.ints(&[codes.len() as i32, self.every]);
                if out.version >= 4 {
                    out.ints(&[self.first]);
                }
                out.codes(&codes);
                return;
            }
            out.ints(&[self.sets.len() as i32, self.every, self.first]);
            for (name, of_groups, codes) in &self.sets {
                out.text(name, 20);
                out.ints(&[codes.len() as i32]);
                out.mark(*of_groups);
                out.codes(codes);
            }
        });
        out.section("fieldStores", |out| {
            out.ints(&[self.fields.len() as i32]);
            out.ints(&self.fields);
            if out.version >= 5 {
                match &self.field_nodes {
                    None => out.unsigned(&[u32::MAX]),
                    Some(nodes) => {
                        out.ints(&[nodes.len() as i32]);
                        out.unsigned(nodes);
                    }
                }
            }
        });
    }
}

struct Writer {
    bytes: Vec<u8>,
    version: u32,
    precision: usize,
}

impl Writer {
    fn section(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        if self.version < 14 {
            return write(self);
        }
        self.text(name, 40);
        self.ints(&[1]);
        let start = self.bytes.len();
        self.bytes.extend([0; 8]);
        write(self);
        let size = (self.bytes.len() - start - 8) as i64;
        self.bytes[start..start + 8].copy_from_slice(&size.to_le_bytes());
    }

    /// Text, a NUL where there is room, then blanks.
    fn text(&mut self, text: &str, n: usize) {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        bytes.resize(n.max(bytes.len()), b' ');
        self.bytes.extend(&bytes[..n]);
    }

    fn ints(&mut self, values: &[i32]) {
        self.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn unsigned(&mut self, values: &[u32]) {
        self.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn reals(&mut self, values: &[f64]) {
        match self.precision {
            4 => self.bytes.extend(values.iter().flat_map(|value| (*value as f32).to_le_bytes())),
            _ => self.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        }
    }

    fn codes(&mut self, codes: &[u64]) {
        match self.version {
            ..10 => self.bytes.extend(codes.iter().flat_map(|code| (*code as u32).to_le_bytes())),
            _ => self.bytes.extend(codes.iter().flat_map(|code| code.to_le_bytes())),
        }
    }

    fn mark(&mut self, of_groups: bool) {
        if self.version >= 8 {
            self.bytes.push(u8::from(of_groups));
        }
    }

    fn signal(&mut self, signal: &Signal) {
        self.ints(&[signal.dofs.len() as i32]);
        if self.version >= 1 {
            self.ints(&[signal.kind]);
        }
        self.mark(signal.of_groups);
        self.codes(&signal.dofs);
        self.reals(&signal.amplitudes);
        self.reals(&signal.samples);
    }
}
