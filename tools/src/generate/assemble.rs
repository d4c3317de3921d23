//! Makes a [`Model`] of triangles, materials, a source and monitors.

use pogo_formats::dynamics::{
    Amplitude, AmplitudeShape, FieldQuantity, FieldRequest, HistoryRequest, Increment, Load, LoadKind, NodalQuantity,
    OutputInterval,
};
use pogo_formats::explicit::{Elasticity, ExplicitSettings, Material, Model, Section, Setup};
use pogo_formats::mesh::{ElementGroup, ElementKind, Mesh, NamedSet};

use super::triangles::Triangles;

/// An undamped isotropic material from density (kg/m³), Young's modulus (Pa) and Poisson's ratio.
pub(super) fn isotropic(name: &str, density: f64, young: f64, poisson: f64) -> Material {
    Material::new(name, density, Elasticity::Isotropic { young, poisson })
}

/// The same from the speeds of plane P and S waves (m/s): μ = ρβ², ν = (α² − 2β²) / 2(α² − β²), E = 2μ(1 + ν).
pub(super) fn from_wave_speeds(name: &str, density: f64, p_speed: f64, s_speed: f64) -> Material {
    let (p2, s2) = (p_speed * p_speed, s_speed * s_speed);
    let poisson = (p2 - 2.0 * s2) / (2.0 * (p2 - s2));
    isotropic(name, density, 2.0 * density * s2 * (1.0 + poisson), poisson)
}

/// A signal that becomes the table of an amplitude.
pub(super) struct Signal {
    /// a(t).
    pub value: Box<dyn Fn(f64) -> f64>,
    /// Start and end of the signal, s; it is 0 outside.
    pub support: [f64; 2],
    /// Shortest period that matters, s.
    pub period: f64,
}

impl Signal {
    /// sin 2πft under a Hann window of this many cycles.
    pub fn hann_burst(frequency: f64, cycles: f64) -> Self {
        use std::f64::consts::TAU;
        let length = cycles / frequency;
        let value = move |t: f64| 0.5 * (1.0 - (TAU * t / length).cos()) * (TAU * frequency * t).sin();
        Self { value: Box::new(value), support: [0.0, length], period: 1.0 / frequency }
    }

    /// A table with a point at every increment, or more if increments are coarse. It is exact at the increments of the model.
    fn table(&self, name: &str, increment: f64) -> Amplitude {
        let pitch = increment / (increment / (self.period / 40.0)).ceil().max(1.0);
        let [first, last] = self.support.map(|t| (t / pitch).round() as i64);
        let (mut times, mut values) = (Vec::new(), Vec::new());
        for i in first..=last {
            times.push(short(i as f64 * pitch));
            values.push(if i == first || i == last { 0.0 } else { short((self.value)(i as f64 * pitch)) });
        }
        Amplitude::new(name, AmplitudeShape::Tabular { times, values })
    }
}

/// Rounds to twelve significant digits, so that the model holds exactly the short numbers that its deck has.
pub(super) fn short(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
}

/// Source, monitors and step of a model.
pub(super) struct Action {
    /// First line of the deck.
    pub title: String,
    /// Nodes on which the force acts.
    pub source: Vec<u32>,
    /// Force on each of them, N.
    pub force: [f64; 2],
    pub signal_name: &'static str,
    /// a(t) of the force.
    pub signal: Signal,
    /// Monitor points by name.
    pub monitors: Vec<(&'static str, u32)>,
    pub node_sets: Vec<NamedSet>,
    /// Length of the run, s.
    pub time: f64,
    /// Δt, s.
    pub increment: f64,
    /// Displacement fields to write, 0 for none.
    pub n_fields: u32,
}

/// Makes a model of triangles. Elements are ordered by region, so that each section is one run of labels. The material and
/// the section of a region without elements are dropped.
pub(super) fn assemble(mesh: Triangles, materials: Vec<Material>, action: Action) -> Model {
    let mut order = (0..mesh.triangles.len() as u32).collect::<Vec<_>>();
    order.sort_by_key(|&triangle| mesh.regions[triangle as usize]);

    let (mut used, mut sections, mut element_sets) = (Vec::new(), Vec::<Section>::new(), Vec::<NamedSet>::new());
    let mut section_of = Vec::with_capacity(order.len());
    for run in order.chunk_by(|&a, &b| mesh.regions[a as usize] == mesh.regions[b as usize]) {
        let material = &materials[mesh.regions[run[0] as usize] as usize];
        let first = section_of.len() as u32;
        let section = Section::new(&material.name, used.len() as u32);
        section_of.resize(section_of.len() + run.len(), sections.len() as u32);
        element_sets
            .push(NamedSet { name: material.name.clone(), members: (first..section_of.len() as u32).collect() });
        sections.push(section);
        used.push(material.clone());
    }
    let connectivity = order.iter().flat_map(|&triangle| mesh.triangles[triangle as usize]).collect();
    let mut mesh = mesh_of(2, ElementKind::Cpe3, mesh.points.into_flattened(), connectivity);
    mesh.groups[0].section = section_of;
    mesh.element_sets = element_sets;
    act(mesh, used, sections, action)
}

/// A mesh of elements of one kind, all of section 0 and in a set `ALL`.
pub(super) fn mesh_of(dimension: usize, kind: ElementKind, coordinates: Vec<f64>, connectivity: Vec<u32>) -> Mesh {
    let (n_nodes, n_elements) = ((coordinates.len() / dimension) as u32, (connectivity.len() / kind.n_nodes()) as u32);
    let group = ElementGroup {
        kind,
        labels: (1..=n_elements).collect(),
        instance: vec![0; n_elements as usize],
        section: vec![0; n_elements as usize],
        connectivity,
    };
    Mesh {
        dimension: dimension as u32,
        coordinates,
        node_labels: (1..=n_nodes).collect(),
        node_instance: vec![0; n_nodes as usize],
        instances: vec![String::new()],
        groups: vec![group],
        node_sets: Vec::new(),
        element_sets: vec![NamedSet { name: "ALL".to_owned(), members: (0..n_elements).collect() }],
    }
}

/// Adds the sets, the source, the monitors and the step to a mesh with its materials.
pub(super) fn act(mut mesh: Mesh, materials: Vec<Material>, sections: Vec<Section>, action: Action) -> Model {
    // About 50 samples a period are enough to draw and to process a trace.
    let interval = OutputInterval::Increments((action.signal.period / 50.0 / action.increment).max(1.0) as u32);
    let mut histories = Vec::new();
    mesh.node_sets.push(NamedSet { name: "SOURCE".to_owned(), members: action.source.clone() });
    for (name, node) in action.monitors {
        mesh.node_sets.push(NamedSet { name: name.to_owned(), members: vec![node] });
        let variables = (0..mesh.dimension as u8).map(|component| (NodalQuantity::Displacement, component)).collect();
        histories.push(HistoryRequest {
            set: name.to_owned(),
            nodes: vec![node],
            variables,
            weights: Vec::new(),
            interval: interval.clone(),
        });
    }
    mesh.node_sets.extend(action.node_sets);
    let loads = action.force.iter().enumerate().filter(|(_, force)| **force != 0.0).map(|(component, &force)| {
        let mut direction = [0.0; 3];
        direction[component] = 1.0;
        let kind = LoadKind::Concentrated { nodes: action.source.clone(), weights: Vec::new(), direction };
        Load { name: format!("SOURCE.{}", component + 1), kind, magnitude: short(force), amplitude: Some(0) }
    });
    let setup = Setup {
        title: action.title,
        materials,
        sections,
        amplitudes: vec![action.signal.table(action.signal_name, action.increment)],
        loads: loads.collect(),
        histories,
        fields: match action.n_fields {
            0 => Vec::new(),
            n => {
                vec![FieldRequest { quantities: vec![FieldQuantity::Displacement], interval: OutputInterval::Count(n) }]
            }
        },
        explicit: ExplicitSettings {
            time: action.time,
            increment: Increment::Fixed(action.increment),
            ..ExplicitSettings::default()
        },
        ..Setup::default()
    };
    Model { mesh, setup }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wave_speeds_come_back_from_the_moduli() {
        let Elasticity::Isotropic { young, poisson } = from_wave_speeds("R", 2600.0, 4000.0, 2000.0).elasticity else {
            panic!("isotropic")
        };
        let p = (young * (1.0 - poisson) / ((1.0 + poisson) * (1.0 - 2.0 * poisson) * 2600.0)).sqrt();
        let s = (young / (2.0 * (1.0 + poisson) * 2600.0)).sqrt();
        assert!((p - 4000.0).abs() < 1e-8 && (s - 2000.0).abs() < 1e-8, "{p} {s}");
    }

    #[test]
    fn a_burst_is_exact_at_the_increments() {
        let signal = Signal::hann_burst(5e6, 5.0);
        let AmplitudeShape::Tabular { times, values } = signal.table("A", 1e-9).shape else { panic!("a table") };
        assert_eq!((times.len(), times[0], times[1000], values[0], values[1000]), (1001, 0.0, 1e-6, 0.0, 0.0));
        assert!((values[450] - (signal.value)(450e-9)).abs() < 1e-11);
        // A coarse increment is divided.
        let AmplitudeShape::Tabular { times, .. } = signal.table("A", 20e-9).shape else { panic!("a table") };
        assert_eq!(times[4], 20e-9);
    }
}
