//! From a mesh of triangles or tetrahedra and a job to an Eikonal block file: read, apply, arrange, check, write.

use pogo_formats::block::Provenance;
use pogo_formats::eikonal::block::{Eikonal, EikonalContents};
use pogo_formats::eikonal::job::EikonalJob;
use pogo_formats::eikonal::setup::StartRegion;
use pogo_formats::eikonal::{EikonalMeshView, Symmetric, metrics, nodes_of, outside};
use pogo_formats::job::{JobError, JobFile as _};
use pogo_formats::physics::write_block_if;
use pogo_formats::read::mesh;
use pogo_formats::timings::timed;
use pogo_formats::words::{counted, grouped};
use serde::Serialize;

use super::{Arranged, Reach, arrange, reach, twins};
use crate::cli::word;
use crate::listing::Listing;
use crate::prepare::options::{DeckOptions, DomainOptions};
use crate::prepare::{InputKind, Made, Prepare, PrepareError, Remarks, Request, Work};

/// Options for a mesh on which arrival times are computed.
#[derive(Debug, Clone, clap::Args)]
pub struct EikonalOptions {
    #[command(flatten)]
    pub deck: DeckOptions,
    #[command(flatten)]
    pub domains: DomainOptions,
}

/// A model that was arranged.
pub struct EikonalModel {
    arranged: Arranged,
    job: EikonalJob,
    /// The mesh's.
    file: String,
    /// Line of each element in the file, by its index there.
    lines: Vec<u32>,
}

impl Prepare for Eikonal {
    const INPUT: &'static str = "mesh";
    const DEFAULT_FOR: Option<InputKind> = Some(InputKind::Mesh);
    const IN_JOBS: bool = true;
    type Options = EikonalOptions;
    type Model = EikonalModel;

    fn command_line(options: &EikonalOptions) -> Vec<String> {
        options.domains.command_line().into_iter().chain(options.deck.command_line()).collect()
    }

    fn read(request: &Request, options: &EikonalOptions, work: &mut Work) -> Result<EikonalModel, PrepareError> {
        if request.jobs.is_empty() {
            let reason =
                "an Eikonal model needs a job that says how fast the wave is and where it starts: --job job.toml";
            return Err(PrepareError::option(&request.input, reason));
        }
        work.stage("read");
        let job = EikonalJob::read(&request.jobs)?;
        let mut mesh = mesh::read(&request.input, &options.deck.reader())?;

        work.stage("apply");
        let mut applied = job.apply(&mut mesh)?;
        let mut remarks = std::mem::take(&mut mesh.notes);
        remarks.append(&mut applied.notes);
        work.sources = mesh.sources.clone();
        work.sources.append(&mut applied.sources);
        let (file, lines) = (mesh.file.clone(), std::mem::take(&mut mesh.element_lines));

        work.stage("arrange");
        let DomainOptions { domains, domain_partition } = options.domains;
        let mut arranged = arrange(mesh, applied, domain_partition, domains.into())
            .map_err(|error| PrepareError::model(error.place().unwrap_or(&request.input), error.clone()))?;
        remarks.append(&mut arranged.notes);

        work.remarks.add(remarks);
        Ok(EikonalModel { arranged, job, file, lines })
    }

    fn verify(model: &EikonalModel, work: &mut Work) -> Result<(), PrepareError> {
        work.stage("check");
        let (_, remarks) = Checks::of(model).all()?;
        work.remarks.add(remarks);
        Ok(())
    }

    fn contents(read: Result<&EikonalModel, &PrepareError>, _: &Remarks) -> Listing {
        let arranged = read.ok().map(|model| &model.arranged);
        let mesh = arranged.map(|arranged| arranged.mesh.view());
        let sizes = mesh.map(|mesh| (mesh.n_nodes(), mesh.n_elements()));
        let classes = arranged.map_or_else(Vec::new, classes);
        let mut contents = Listing::default();
        contents.figure("nodes", &sizes.map(|(nodes, _)| nodes));
        contents.figure("elements", &sizes.map(|(_, elements)| elements));
        contents.figure("classes", &classes);
        if let Some((nodes, elements)) = sizes {
            contents.text(format_args!("  {}, {}", counted(elements, "element"), counted(nodes, "node")));
        }
        for class in &classes {
            contents.text(format_args!("  {}: {}", class.name, counted(class.elements, "element")));
        }
        contents
    }

    fn write(
        model: EikonalModel,
        request: &Request,
        options: &EikonalOptions,
        provenance: &Provenance,
        work: &mut Work,
    ) -> Result<Made, PrepareError> {
        work.stage("write");
        let Arranged { mesh, domains, trees, setup, .. } = &model.arranged;
        let mut checked = None;
        let written = std::thread::scope(|scope| {
            let check = || timed("check", || Checks::of(&model).all());
            let beside = std::thread::Builder::new().spawn_scoped(scope, check);
            let contents = EikonalContents { mesh, domains, trees };
            write_block_if::<Self>(&request.output, contents, setup, provenance, || {
                let found = match beside {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    Err(_) => check(),
                };
                let is_good = found.is_ok();
                checked = Some(found);
                if is_good { Ok(()) } else { Err(std::io::Error::other("the model is refused")) }
            })
        });
        // Nothing is checked where the file cannot be written.
        let checked = checked.transpose()?;
        let (bytes, (reach, remarks)) = (written?, checked.unwrap_or_default());
        work.remarks.add(remarks);
        let (nodes, elements) = (mesh.view().n_nodes(), mesh.view().n_elements());
        let kind = if mesh.corners == 4 { "tetrahedra" } else { "triangles" };
        let (classes, starts) = (classes(&model.arranged), &reach.start_nodes);
        let mut figures = Listing::default();
        figures.figure("kind", &kind);
        figures.figure("nodes", &nodes);
        figures.figure("elements", &elements);
        figures.figure("classes", &classes);
        figures.figure("start_nodes", starts);
        if setup.trees.is_empty() {
            figures.figure("unreached", &reach.unreached);
        } else {
            let (names, junctions) = (setup.trees.len(), trees.junctions.len());
            figures.figure("trees", &names);
            figures.figure("junctions", &junctions);
        }
        let velocities =
            if classes.len() == 1 { "1 velocity".to_owned() } else { format!("{} velocities", classes.len()) };
        let (elements, starts) = (grouped(elements as u64), counted(starts.iter().sum(), "start node"));
        figures.text(format_args!("{elements} {kind}, {}; {velocities}, {starts}", counted(nodes, "node")));
        let method = word(&options.domains.domain_partition);
        figures.sub_domains(&method, domains.view().n_domains(), domains.halo.len(), nodes);
        Ok(Made { bytes, figures, size: (nodes, "node") })
    }
}

/// What is checked of a model once it is arranged.
struct Checks<'a> {
    file: &'a str,
    /// Line of each element in the file, by its index there.
    lines: &'a [u32],
    job: &'a EikonalJob,
    arranged: &'a Arranged,
    mesh: EikonalMeshView<'a>,
}

impl<'a> Checks<'a> {
    fn of(EikonalModel { arranged, job, file, lines }: &'a EikonalModel) -> Self {
        Self { file, lines, job, arranged, mesh: arranged.mesh.view() }
    }

    /// What the wave reaches, and what the user should know.
    fn all(&self) -> Result<(Reach, Vec<String>), PrepareError> {
        let file = self.file;
        let metrics = self.metrics()?;
        let mut remarks: Vec<String> = self.twins(&metrics)?.into_iter().collect();
        remarks.extend(self.points_outside());
        let reach = reach(&self.mesh, &metrics, &self.arranged.setup.starts)
            .map_err(|(index, message)| self.job.starts[index].place.error(message))?;
        self.conductivity(&metrics)?;
        // Trees carry the wave on: what they reach is known when they are coupled, in a run.
        if let Some(first) = reach.first.filter(|_| self.arranged.setup.trees.is_empty()) {
            let (unreached, n) = (reach.unreached, self.mesh.n_nodes());
            remarks.push(format!("{file}: note: the wave cannot reach {unreached} of {n} nodes, node {first} first"));
        }
        Ok((reach, remarks))
    }

    fn error_at(&self, element: usize, message: String) -> JobError {
        let line = self.lines.get(self.mesh.original_element[element] as usize).copied().unwrap_or_default();
        JobError { file: self.file.to_owned(), line: line as usize, message }
    }

    /// The metric tensor of each element.
    fn metrics(&self) -> Result<Vec<Symmetric>, JobError> {
        metrics(&self.mesh, &self.arranged.setup.classes).map_err(|error| {
            let class = usize::from(self.mesh.class[error.element]);
            let label = self.mesh.element_labels[error.element];
            // The table of the job; none where the mesh itself gives the velocity.
            let place = self.job.velocities.get(class).map_or_else(String::new, |item| format!(" ({})", item.place));
            self.error_at(error.element, format!("element {label}{place}: {}", error.reason))
        })
    }

    /// Refuses directions that the conductivity of an ECG needs and elements do not have.
    fn conductivity(&self, metrics: &[Symmetric]) -> Result<(), JobError> {
        let (Some(ecg), Some(item)) = (&self.arranged.setup.ecg, &self.job.ecg) else { return Ok(()) };
        let found = ecg.conductivities(&self.mesh, &self.arranged.setup.classes, metrics);
        found.map(|_| ()).map_err(|error| {
            let label = self.mesh.element_labels[error.element];
            item.place.error(format!("conductivity of element {label}: {}", error.reason))
        })
    }

    /// Elements with the same nodes must have the same velocity: the wave would take the faster one, so that a slow element,
    /// such as a scar, would have no effect.
    fn twins(&self, metrics: &[Symmetric]) -> Result<Option<String>, JobError> {
        let (mesh, twins) = (&self.mesh, twins(&self.mesh));
        let differ = |twin: usize| mesh.class[twin] != mesh.class[twin - 1] || metrics[twin] != metrics[twin - 1];
        if let Some(&twin) = twins.iter().find(|&&twin| differ(twin)) {
            let [one, other] = [twin - 1, twin].map(|element| {
                let class = &self.arranged.setup.classes[usize::from(mesh.class[element])].name;
                format!("{} (velocity {class})", mesh.element_labels[element])
            });
            let message = format!(
                "elements {one} and {other} have the same nodes and different velocities: leave one of them out"
            );
            return Err(self.error_at(twin, message));
        }
        Ok(twins.first().map(|&first| {
            let (file, n, label) = (self.file, twins.len(), mesh.element_labels[first]);
            format!(
                "{file}: note: {n} elements have the same nodes as another, element {label} first: their volume counts twice"
            )
        }))
    }

    /// Warnings about points of the job that lie outside the mesh.
    fn points_outside(&self) -> impl Iterator<Item = String> {
        let output = &self.job.output;
        let of_output = [("path_points", &output.value.path_points), ("probe_points", &output.value.probe_points)];
        let of_output = of_output.into_iter().flat_map(|(key, points)| points.iter().map(move |point| (key, *point)));
        let points = of_output.map(|(key, point)| (&output.place, format!("`{key}`"), point));
        let starts = self.arranged.setup.starts.iter().zip(&self.job.starts);
        let of_starts = starts.filter_map(|(start, item)| match start.region {
            StartRegion::Nearest(point) => Some((&item.place, format!("start \"{}\"", start.name), point)),
            _ => None,
        });
        of_starts.chain(points).filter_map(|(place, what, point)| {
            let node = *nodes_of(&self.mesh, &StartRegion::Nearest(point)).ok()?.first()?;
            let text = outside(&self.mesh, &self.arranged.setup.length_unit, point, node)?;
            Some(format!("{place}: warning: {what}: {text}"))
        })
    }
}

/// A velocity class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassCount {
    pub name: String,
    pub elements: usize,
}

fn classes(arranged: &Arranged) -> Vec<ClassCount> {
    let mut counts = vec![0; arranged.setup.classes.len()];
    arranged.mesh.class.iter().for_each(|&class| counts[usize::from(class)] += 1);
    let named = arranged.setup.classes.iter().zip(counts);
    named.map(|(class, elements)| ClassCount { name: class.name.clone(), elements }).collect()
}
