//! What is in a block file of a static voxel problem.

use std::path::Path;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::physics::BlockFile;
use pogo_formats::voxel::block::Voxel;
use pogo_formats::voxel::setup::LoadCase;
use pogo_formats::voxel::slice::{self, VOXELS};
use pogo_formats::voxel::{BricksView, VoxelMeshView, VoxelSetup, report};
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::plot::Look;
use pogo_formats::write::report::Report;

use super::grids::{Grids, LevelSummary, share};
use super::{GridKind, kinds};
use crate::cli::word;
use crate::info::{Inspect, Sets, number, size};
use crate::listing::{Listing, items, json};
use crate::picture::{PictureError, PictureOptions};

impl Inspect for Voxel {
    const TITLE: &'static str = "voxel statics";

    fn title(setup: &VoxelSetup) -> &str {
        &setup.title
    }

    fn figures(file: &BlockFile<Self>) -> Listing {
        let (mesh, setup) = (file.mesh(), file.setup());
        let mut page = Listing::default();
        let (elements, nodes, dof) = (mesh.bricks.n_elements(), mesh.bricks.n_nodes(), 3 * mesh.bricks.n_nodes());
        let voxels: f64 = mesh.size.iter().map(|&n| f64::from(n)).product();
        let solid = elements as f64 / voxels;
        page.figure("size", &mesh.size);
        page.figure("spacing", &mesh.spacing);
        page.figure("unit", &setup.unit);
        page.figure("origin", &mesh.origin);
        page.figure("elements", &elements);
        page.figure("nodes", &nodes);
        page.figure("dof", &dof);
        page.figure("solid_fraction", &solid);
        page.figure("poisson", &setup.poisson);
        let ([nx, ny, nz], edge, unit, solid) = (mesh.size, number(mesh.spacing), &setup.unit, 100.0 * solid);
        page.line("image", format_args!("{nx} × {ny} × {nz} voxels of {edge} {unit}, {solid:.1} % solid"));
        let (elements, nodes) = (counted(elements, "element"), counted(nodes, "node"));
        page.line("model", format_args!("{elements}, {nodes}, {} degrees of freedom", grouped(dof as u64)));
        add_materials(&mesh, &setup, &mut page);
        if setup.materials.is_empty() || setup.materials.iter().any(|material| material.poisson.is_none()) {
            page.line("poisson", number(setup.poisson));
        }
        let cases = items(&setup.cases, |case| (&case.name, case_words(case)));
        page.figure("cases", &cases);
        page.list("load cases", &cases);
        let (tolerance, most) = (number(setup.solver.tolerance), setup.solver.max_iterations);
        let solver = format!("to {tolerance}, at most {most} iterations");
        page.figure("solver", &solver);
        page.line("solver", solver);
        page.object("grid", &grid(file, &mesh.bricks));
        page.object("domains", &domains(file, &mesh));
        page
    }

    fn sets(_: &BlockFile<Self>) -> Option<Sets> {
        None
    }

    /// Draws the slice that the output asks for: sub-domains in colours, or moduli where there is one sub-domain.
    fn show(file: &BlockFile<Self>, report: &mut Report) {
        let (mesh, setup, domains) = (file.mesh(), file.setup(), file.domains());
        let look = |[subtitle, label]: [&str; 2]| look(&setup, subtitle, label);
        let room = if domains.n_domains() > 1 { report.room() / 2 } else { report.room() };
        report::show(report, &mesh, &setup, (&look(MODULI), room), young_of(&mesh, &setup));
        if domains.n_domains() > 1 {
            report::show(report, &mesh, &setup, (&look(DOMAINS), room), domain_of(&mesh, &domains));
        }
    }

    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError> {
        if options.window.is_some() {
            return Err(PictureError::Window);
        }
        let (mesh, setup, domains) = (file.mesh(), file.setup(), file.domains());
        let width = options.width()?;
        let look = |[subtitle, label]: [&str; 2]| Look { width, ..look(&setup, subtitle, label) };
        let (drawn, what) = if domains.n_domains() > 1 {
            (slice::draw(path, &mesh, &setup, look(DOMAINS), domain_of(&mesh, &domains))?, "sub-domains")
        } else {
            (slice::draw(path, &mesh, &setup, look(MODULI), young_of(&mesh, &setup))?, "moduli")
        };
        if drawn {
            Ok(format!("a slice of {what}"))
        } else {
            Err(PictureError::Empty("the slice cuts no voxel; choose another with [output] slice_at in the job"))
        }
    }

    fn grids(file: &BlockFile<Self>, as_json: bool) -> Option<Result<String, String>> {
        let grids = Grids::measure(&file.container().path().display().to_string(), &file.mesh());
        Some(match grids {
            Ok(grids) => Ok(if as_json { json(&grids) + "\n" } else { grids.to_string() }),
            Err(error) => Err(error.to_string()),
        })
    }
}

/// What pictures of voxels show, and their labels.
const MODULI: [&str; 2] = ["Young's modulus E in the unit of the job", "E"];
const DOMAINS: [&str; 2] = ["sub-domains by number", "domain"];

fn look(setup: &VoxelSetup, subtitle: &str, label: &str) -> Look {
    Look {
        title: setup.title.clone(),
        subtitle: subtitle.into(),
        label: label.into(),
        unit: String::new(),
        share: VOXELS,
        ..Look::default()
    }
}

/// The number of the sub-domain of each element.
fn domain_of<'a>(mesh: &'a VoxelMeshView, domains: &SubDomainsView) -> impl Fn(u32, &[u32; 8]) -> f64 + use<'a> {
    let domain = mesh.bricks.domains(domains);
    move |element, _| f64::from(domain[mesh.bricks.element_first.partition_point(|&first| first <= element) - 1])
}

/// Young's modulus of each element.
fn young_of<'a>(mesh: &'a VoxelMeshView, setup: &'a VoxelSetup) -> impl Fn(u32, &[u32; 8]) -> f64 + 'a {
    |element, _| match mesh.element_class.get(element as usize) {
        Some(&class) => setup.materials.get(usize::from(class)).map_or(0.0, |material| material.young),
        None => mesh.element_modulus.get(element as usize).map_or(0.0, |&e| setup.modulus_scale * f64::from(e)),
    }
}

fn case_words(case: &LoadCase) -> String {
    let n = |n: usize, what: &str| (n > 0).then(|| counted(n, what));
    let parts = [
        n(case.displacements.len(), "displaced region"),
        n(case.displacement_tables.len(), "displacement table"),
        n(case.forces.len(), "loaded region"),
        n(case.force_tables.len(), "force table"),
        case.hold_rigid_motion.then(|| "rigid motion held".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The classes of modulus, or the least and the greatest modulus where each element has its own.
fn add_materials(mesh: &VoxelMeshView, setup: &VoxelSetup, page: &mut Listing) {
    let mut n_elements = vec![0_usize; setup.materials.len()];
    mesh.element_class.iter().for_each(|&class| n_elements[usize::from(class)] += 1);
    let materials = setup.materials.iter().zip(n_elements).map(|(material, n)| {
        let mut row = Listing::default();
        row.figure("name", &material.name);
        row.figure("young", &material.young);
        row.figure("elements", &n);
        row.text(format_args!("E {}, {}", number(material.young), counted(n, "element")));
        (material.name.clone(), row)
    });
    page.table("materials", Some("materials"), &materials.collect::<Vec<_>>());
    let extremes =
        mesh.element_modulus.iter().fold([f32::INFINITY, 0.0], |[least, most], &e| [least.min(e), most.max(e)]);
    let moduli = (!mesh.element_modulus.is_empty()).then(|| extremes.map(|e| f64::from(e) * setup.modulus_scale));
    page.figure("moduli", &moduli);
    if let Some([least, most]) = moduli {
        page.line("moduli", format_args!("E of each element, {} to {}", number(least), number(most)));
    }
}

/// The grid, as Table 1 of the paper and Table 3.1 of the thesis report it: how many elements have node numbers less than 2⁸,
/// less than 2¹⁶ and further apart, and the tables of the representation, the finest level first.
fn grid(file: &BlockFile<Voxel>, bricks: &BricksView) -> Listing {
    let levels = file.levels();
    let (offset, hash) = (&levels.offset, &levels.hash);
    let representation = match (offset.is_empty(), hash.is_empty()) {
        (false, _) => GridKind::Offset,
        (true, false) => GridKind::Hash,
        (true, true) => GridKind::Brick,
    };
    let representation = word(&representation);
    let n = bricks.n_elements();
    let nodes_a_brick = bricks.n_nodes() as f64 / bricks.n_bricks().max(1) as f64;
    let bytes_an_element = share(bricks.bytes() as u64, n);
    let kinds = kinds(bricks);
    let [short, medium, long] = [kinds.short, kinds.medium, kinds.long].map(|kind| share(kind, n));
    let levels: Vec<_> = offset.iter().map(LevelSummary::offset).chain(hash.iter().map(LevelSummary::hash)).collect();
    let mut page = Listing::default();
    page.figure("representation", &representation);
    page.figure("bricks", &bricks.n_bricks());
    page.figure("nodes_a_brick", &nodes_a_brick);
    page.figure("brick_bytes_an_element", &bytes_an_element);
    page.figure("short", &short);
    page.figure("medium", &medium);
    page.figure("long", &long);
    page.figure("levels", &levels);
    let count = counted(bricks.n_bricks(), "brick");
    page.line("grid", format_args!("{count}, {nodes_a_brick:.1} nodes each, {bytes_an_element:.2} B an element"));
    page.line("", format_args!("fractions short {short:.3}, medium {medium:.3}, long {long:.3}"));
    for (number, level) in levels.iter().enumerate() {
        let each = level.bytes as f64 / level.elements.max(1) as f64;
        let mut text = format!("level {number}: {}, {each:.2} B each", counted(level.elements as usize, "element"));
        if let (Some(occupancy), Some(tables)) = (level.occupancy, level.tables) {
            text += &format!(", occupancy {occupancy:.3} in {}", counted(tables as usize, "table"));
        }
        page.line(if number == 0 { &representation } else { "" }, text);
    }
    if let Some(first) = levels.first() {
        let all = levels.iter().map(|level| level.bytes).sum();
        page.line("", format_args!("{} on the finest level, {} on all", size(first.bytes), size(all)));
    }
    page
}

/// The sub-domains: their own nodes, those that they read from others, and those that they send, counted once for each receiver.
fn domains(file: &BlockFile<Voxel>, mesh: &VoxelMeshView) -> Listing {
    let (domains, bricks) = (file.domains(), mesh.bricks);
    let one = |d: usize| {
        let own = bricks.of_domain(&domains, d);
        let elements = |&b: &u32| bricks.element_first[b as usize + 1] - bricks.element_first[b as usize];
        let elements = own.iter().map(|brick| elements(brick) as usize).sum::<usize>();
        let (nodes, halo) = (domains.n_own(d), domains.halo_of(d).len());
        let receives_from: Vec<u32> = domains.received(d).map(|message| message.owner).collect();
        let sends_to: Vec<u32> = domains.sent(d).map(|message| message.reader).collect();
        let sent = domains.sent(d).map(|message| message.items.len()).sum::<usize>();
        let list = |domains: &[u32]| domains.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let mut text = format!("{}, {}", counted(elements, "element"), counted(nodes, "own node"));
        if !receives_from.is_empty() {
            text += &format!(", {} of {}", counted(halo, "further node"), list(&receives_from));
        }
        if !sends_to.is_empty() {
            text += &format!(", sends {} to {}", grouped(sent as u64), list(&sends_to));
        }
        let mut row = Listing::default();
        row.figure("elements", &elements);
        row.figure("nodes", &nodes);
        row.figure("halo", &halo);
        row.figure("receives_from", &receives_from);
        row.figure("sent", &sent);
        row.figure("sends_to", &sends_to);
        row.text(text);
        (d.to_string(), row)
    };
    let rows: Vec<(String, Listing)> = (0..domains.n_domains()).map(one).collect();
    let mut page = Listing::default();
    page.figure("method", &domains.method);
    // A model in one piece has nothing to say about it.
    let heading = (rows.len() > 1).then(|| format!("sub-domains ({})", domains.method));
    page.table("domains", heading.as_deref(), &rows);
    page
}
