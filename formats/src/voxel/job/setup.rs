//! From the tables of a job, with the mesh at hand, to a [`VoxelSetup`].

use std::path::Path;

use super::condition::{Facing, Force, Plane, Where};
use super::load::Bounds;
use super::presets::{Specimen, Test, side_name, test};
use super::{Boundary, VoxelJob};
use crate::job::{Components, JobError, Located, Place, rows_of_numbers};
use crate::system::inputs;
use crate::voxel::setup::{
    Analysis, LoadCase, Magnitude, MagnitudeKind, NodalTable, NodeRegion, PrescribedField, RegionForce, Share,
    VoxelMaterial,
};
use crate::voxel::{BrickNodes, VoxelMeshView, VoxelSetup};
use crate::words::Choice;

/// One value of a table: node (i, j, k), direction 0, 1, 2, and a displacement or a force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Given {
    /// (i, j, k) in the model's indices.
    pub node: [u32; 3],
    /// 0, 1, 2: x, y, z.
    pub direction: u8,
    /// Displacement or force.
    pub value: f64,
}

/// Conditions that stand in the file of the image itself (ParOSol's HDF5), in the model's indices.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct GivenConditions {
    /// Prescribed displacements.
    pub fixed: Vec<Given>,
    pub forces: Vec<Given>,
}

/// A stack that marks voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct Mask {
    /// Voxels along x, y and z.
    pub size: [usize; 3],
    /// Values, x fastest.
    pub values: Vec<f32>,
}

/// What is at hand when conditions are resolved.
struct Resolver<'a> {
    mesh: &'a VoxelMeshView<'a>,
    materials: &'a [VoxelMaterial],
    specimen: Specimen,
    read_mask: &'a dyn Fn(&Path) -> Result<Mask, String>,
    /// What it fills.
    case: &'a mut LoadCase,
    magnitudes: &'a mut Vec<Magnitude>,
}

impl VoxelJob {
    /// Everything of the model but its grid. `read_mask` reads a stack that a condition names; `given` are conditions that
    /// the image brought along, which hold where the job has no `[load]`, `[[boundary]]` or `[[force]]`.
    ///
    /// # Errors
    /// [`JobError`] with the line of the table: a region without nodes, a material that does not exist, a table or mask
    /// that cannot be read, conditions that contradict each other, no load at all.
    pub fn setup(
        &self,
        mesh: &VoxelMeshView<'_>,
        materials: Vec<VoxelMaterial>,
        given: &GivenConditions,
        read_mask: &dyn Fn(&Path) -> Result<Mask, String>,
    ) -> Result<VoxelSetup, JobError> {
        let image = [[0; 3], mesh.size];
        let solid = mesh.bricks.bounds().unwrap_or(image);
        let bounds = match self.load.as_ref().map(|load| load.value.bounds) {
            Some(Bounds::Image) => image,
            _ => solid,
        };
        let specimen = Specimen { bounds, spacing: mesh.spacing, origin: mesh.origin };
        let mut setup = VoxelSetup {
            title: self.title.clone().unwrap_or_default(),
            unit: self.image.value.unit().word().into(),
            poisson: self.material.value.model_poisson(),
            bounds,
            solver: self.solver.value.settings(),
            output: self.output.value.requests(),
            ..VoxelSetup::default()
        };
        let Test { magnitudes, mut cases, analysis } = match &self.load {
            Some(load) => test(&load.value, &specimen).map_err(|message| load.place.error(message))?,
            None => Test { magnitudes: Vec::new(), cases: vec![LoadCase::default()], analysis: Analysis::Own },
        };
        setup.magnitudes = magnitudes;
        setup.analysis = analysis;
        if bounds != solid {
            self.check_faces(mesh, &cases)?;
        }
        self.check_own(&cases)?;
        let has_own = !self.boundaries.is_empty() || !self.forces.is_empty();
        if let Some(case) = cases.first_mut().filter(|_| has_own) {
            let magnitudes = &mut setup.magnitudes;
            let mut resolver = Resolver { mesh, materials: &materials, specimen, read_mask, case, magnitudes };
            for (index, item) in self.boundaries.iter().enumerate() {
                resolver.boundary(item, item.value.name(index))?;
            }
            for (index, item) in self.forces.iter().enumerate() {
                resolver.force(item, item.value.name(index))?;
            }
        } else if self.load.is_none() {
            self.add_given(mesh, given, &mut cases[0], &mut setup.magnitudes)?;
        }
        setup.cases = cases;
        setup.materials = materials;
        Ok(setup)
    }

    /// Refuses a load on faces of the whole image that have no solid voxel.
    fn check_faces(&self, mesh: &VoxelMeshView<'_>, cases: &[LoadCase]) -> Result<(), JobError> {
        let Some(load) = &self.load else { return Ok(()) };
        let named = cases.iter().flat_map(|case| {
            let fields = case.displacements.iter().map(|field| (&field.name, &field.region));
            fields.chain(case.forces.iter().map(|force| (&force.name, &force.region)))
        });
        for (name, region) in named {
            if mesh.bricks.region_nodes(region, mesh.element_class).is_empty() {
                let message =
                    format!("{name} of the box has no solid voxel; `bounds` = \"solid\" takes the sample's own box");
                return Err(load.place.error(message));
            }
        }
        Ok(())
    }

    /// Refuses conditions that contradict the load.
    fn check_own(&self, cases: &[LoadCase]) -> Result<(), JobError> {
        let place = self.boundaries.first().map(|item| &item.place).or(self.forces.first().map(|item| &item.place));
        let Some(place) = place else { return Ok(()) };
        if cases.len() != 1 {
            return Err(place.error("six cases take no further conditions"));
        }
        let moves = |boundary: &Boundary| {
            boundary.value.is_some_and(|value| value != 0.0)
                || boundary.displacement.is_some()
                || boundary.gradient.is_some()
                || boundary.table.is_some()
        };
        if cases[0].scale_to.is_some()
            && (!self.forces.is_empty() || self.boundaries.iter().any(|item| moves(&item.value)))
        {
            let message = "`force` or `moment` in [load] scales the whole solution: only supports go with it; give \
                           `strain`, `displacement` or `angle` there instead";
            return Err(place.error(message));
        }
        Ok(())
    }

    /// Adds the conditions that stand in the file of the image.
    fn add_given(
        &self,
        mesh: &VoxelMeshView<'_>,
        given: &GivenConditions,
        case: &mut LoadCase,
        magnitudes: &mut Vec<Magnitude>,
    ) -> Result<(), JobError> {
        let start = Place { line: 0, ..self.image.place.clone() };
        if given.fixed.is_empty() && given.forces.is_empty() {
            let message = "there is no load: give [load] in a job, such as preset = \"axial\", strain = -0.01, or \
                           [[boundary]] tables";
            return Err(start.error(message));
        }
        let tables = [
            ("boundary.file", &given.fixed, &mut case.displacement_tables),
            ("force.file", &given.forces, &mut case.force_tables),
        ];
        for (name, values, tables) in tables.into_iter().filter(|(_, values, _)| !values.is_empty()) {
            let table = nodal_table(mesh, values, name, Some(factor(magnitudes, name)));
            tables.push(table.map_err(|message| start.error(format!("conditions in the image's file: {message}")))?);
        }
        Ok(())
    }
}

/// A new factor 1 for the conditions `name`.
fn factor(magnitudes: &mut Vec<Magnitude>, name: &str) -> u32 {
    magnitudes.push(Magnitude { name: format!("{name}.factor"), kind: MagnitudeKind::Factor, value: 1.0 });
    magnitudes.len() as u32 - 1
}

/// Node numbers for a table's indices.
fn nodal_table(
    mesh: &VoxelMeshView<'_>,
    given: &[Given],
    name: &str,
    magnitude: Option<u32>,
) -> Result<NodalTable, String> {
    let name = name.rsplit('.').next().unwrap_or(name).to_owned();
    let mut table = NodalTable { name, magnitude, nodes: Vec::new(), directions: Vec::new(), values: Vec::new() };
    for entry in given {
        let [i, j, k] = entry.node;
        let node = mesh
            .bricks
            .node(entry.node)
            .ok_or_else(|| format!("node ({i}, {j}, {k}) does not exist: none of the voxels round it is solid"))?;
        table.nodes.push(node);
        table.directions.push(entry.direction);
        table.values.push(entry.value);
    }
    Ok(table)
}

impl Resolver<'_> {
    fn boundary(&mut self, item: &Located<Boundary>, name: String) -> Result<(), JobError> {
        let Located { value: boundary, place } = item;
        let refuse = |message: String| place.error(message);
        let region = boundary.place().map_err(refuse)?;
        if let Where::Table(file) = region {
            let magnitude = factor(self.magnitudes, &format!("boundary.{name}"));
            let table = self.table(&place.folder, file, &name, magnitude).map_err(refuse)?;
            self.case.displacement_tables.push(table);
            return Ok(());
        }
        let components = match &boundary.components {
            Components::All => [true; 3],
            Components::These(list) => [0, 1, 2].map(|c| list.iter().any(|component| component.0 == c)),
        };
        let (magnitude, constant) = match (boundary.displacement, boundary.gradient) {
            (None, None) => {
                let (name, value) = (format!("boundary.{name}.value"), boundary.value.unwrap_or(0.0));
                self.magnitudes.push(Magnitude { name, kind: MagnitudeKind::Displacement, value });
                (self.magnitudes.len() as u32 - 1, [1.0; 3])
            }
            (vector, _) => {
                let constant = vector.unwrap_or([boundary.value.unwrap_or(0.0); 3]);
                (factor(self.magnitudes, &format!("boundary.{name}")), constant)
            }
        };
        for region in self.regions(&place.folder, region).map_err(refuse)? {
            self.case.displacements.push(PrescribedField {
                name: name.clone(),
                region,
                components,
                magnitude: Some(magnitude),
                constant,
                gradient: std::array::from_fn(|at| boundary.gradient.map_or(0.0, |rows| rows[at / 3][at % 3])),
                centre: boundary.centre.unwrap_or_default(),
            });
        }
        Ok(())
    }

    fn force(&mut self, item: &Located<Force>, name: String) -> Result<(), JobError> {
        let Located { value: force, place } = item;
        let refuse = |message: String| place.error(message);
        let region = force.place().map_err(refuse)?;
        let magnitude = factor(self.magnitudes, &format!("force.{name}"));
        if let Where::Table(file) = region {
            let table = self.table(&place.folder, file, &name, magnitude).map_err(refuse)?;
            self.case.force_tables.push(table);
            return Ok(());
        }
        let faces = |index: usize| match (region, force.facing) {
            (Where::Sides(sides), _) => sides.get(index).copied(),
            (Where::Plane(plane), Some(facing)) => Some((plane.axis.0, facing == Facing::Up)),
            _ => None,
        };
        let regions = self.regions(&place.folder, region).map_err(refuse)?;
        if regions.len() > 1 && force.force.is_some() {
            return Err(place.error("a total force goes on one side; give a [[force]] for each"));
        }
        for (index, region) in regions.into_iter().enumerate() {
            let (share, vector) = match (force, faces(index)) {
                (Force { each: Some(vector), .. }, _) => (Share::Each, vector),
                (Force { traction: Some(vector), .. }, Some((axis, upper))) => {
                    (Share::Traction { axis, upper }, vector)
                }
                (Force { force: Some(vector), .. }, Some((axis, upper))) => (Share::Area { axis, upper }, vector),
                (Force { force: Some(vector), .. }, None) => (Share::Equal, vector),
                _ => return Err(place.error("give one of `force`, `each`, `traction`")),
            };
            let magnitude = Some(magnitude);
            self.case.forces.push(RegionForce { name: name.clone(), region, share, magnitude, vector: *vector });
        }
        Ok(())
    }

    /// The regions of a place, none of them empty.
    fn regions(&self, folder: &Path, place: Where<'_>) -> Result<Vec<NodeRegion>, String> {
        let (bricks, [low, high]) = (&self.mesh.bricks, self.specimen.bounds);
        let grid = |position| self.indices_of(position);
        let regions = match place {
            Where::Sides(sides) => sides.iter().map(|&side| self.specimen.face(side)).collect(),
            Where::Plane(plane) => vec![self.plane(plane)?],
            Where::Box(corners) => {
                let (a, b) = (grid(corners[0]), grid(corners[1]));
                // A corner that lies on a node takes it, whatever rounding does.
                let index = |x: f64| x.clamp(0.0, f64::from(u32::MAX)) as u32;
                let low = [0, 1, 2].map(|axis| index((a[axis].min(b[axis]) - 1e-6).ceil()));
                let high = [0, 1, 2].map(|axis| (a[axis].max(b[axis]) + 1e-6).floor());
                if high.iter().any(|&x| x < 0.0) {
                    return Err("the box lies outside the image".to_owned());
                }
                vec![NodeRegion::Box { low, high: high.map(index) }]
            }
            Where::At(position) => {
                let at = grid(position);
                if (0..3).any(|axis| !(-0.5..=f64::from(self.mesh.size[axis]) + 0.5).contains(&at[axis])) {
                    return Err(format!("the point {position:?} lies outside the image"));
                }
                bricks.nearest_node(at).map(|node| NodeRegion::Nodes(vec![node])).into_iter().collect()
            }
            Where::Nodes(nodes) => {
                let given: Vec<Given> = nodes.iter().map(|&node| Given { node, direction: 0, value: 0.0 }).collect();
                let mut nodes = nodal_table(self.mesh, &given, "", None)?.nodes;
                nodes.sort_unstable();
                nodes.dedup();
                vec![NodeRegion::Nodes(nodes)]
            }
            Where::Material(name) => vec![self.material(name)?],
            Where::Mask(file, label) => vec![NodeRegion::Nodes(self.masked(folder, file, label)?)],
            Where::Table(_) => Vec::new(),
            Where::All => {
                vec![NodeRegion::Box { low: low.map(|_| 0), high: high.map(|_| u32::MAX) }]
            }
        };
        for (index, region) in regions.iter().enumerate() {
            if bricks.region_nodes(region, self.mesh.element_class).is_empty() {
                return Err(match place {
                    Where::Sides(sides) => format!("{} has no solid voxel", side_name(sides[index])),
                    _ => "there is no node of a solid voxel".to_owned(),
                });
            }
        }
        Ok(regions)
    }

    /// A position in indices of nodes.
    fn indices_of(&self, position: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|axis| (position[axis] - self.specimen.origin[axis]) / self.specimen.spacing)
    }

    fn plane(&self, Plane { axis, at, index }: Plane) -> Result<NodeRegion, String> {
        let axis = usize::from(axis.0);
        let (mut low, mut high) = ([0; 3], self.mesh.size);
        let index = match at {
            Some(at) => {
                let nearest = self.indices_of([at; 3])[axis].round();
                if !(0.0..=f64::from(high[axis])).contains(&nearest) {
                    return Err(format!("the plane at {at} lies outside the image"));
                }
                nearest as u32
            }
            None => index.unwrap_or_default(),
        };
        (low[axis], high[axis]) = (index, index);
        Ok(NodeRegion::Box { low, high })
    }

    fn material(&self, name: &str) -> Result<NodeRegion, String> {
        if let Some(index) = self.materials.iter().position(|material| material.name.eq_ignore_ascii_case(name)) {
            return Ok(NodeRegion::Material(index as u32));
        }
        let names: Vec<&str> = self.materials.iter().map(|material| material.name.as_str()).collect();
        Err(match names.as_slice() {
            [] => "each voxel has its own modulus here: there are no materials to name".to_owned(),
            names => format!("no material \"{name}\"; there is {}", names.join(", ")),
        })
    }

    /// Nodes of the elements that a mask marks.
    fn masked(&self, folder: &Path, file: &str, label: Option<f64>) -> Result<Vec<u32>, String> {
        let path = folder.join(file);
        let mask = (self.read_mask)(&path)?;
        let size = self.mesh.size.map(|n| n as usize);
        if mask.size != size || mask.values.len() != size.iter().product::<usize>() {
            let text = |size: [usize; 3]| format!("{} × {} × {}", size[0], size[1], size[2]);
            return Err(format!(
                "{}: the mask has {} voxels, the model {} (after `crop`, `downsample` and `resample`)",
                path.display(),
                text(mask.size),
                text(size)
            ));
        }
        let marked = |value: f32| label.map_or(value != 0.0, |label| f64::from(value) == label);
        let bricks = &self.mesh.bricks;
        let (mut nodes, mut table) = (Vec::new(), BrickNodes::default());
        for brick in 0..bricks.n_bricks() {
            table.load(bricks, brick);
            let corner = bricks.corner(brick);
            for at in bricks.element_positions(brick) {
                let [i, j, k] = at.map(|p| p as usize);
                if marked(mask.values[i + size[0] * (j + size[1] * k)]) {
                    nodes.extend(table.element([0, 1, 2].map(|axis| at[axis] - corner[axis])));
                }
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }

    /// Reads `i, j, k, direction, value` lines.
    fn table(&self, folder: &Path, file: &str, name: &str, magnitude: u32) -> Result<NodalTable, String> {
        let path = folder.join(file);
        let text = inputs::read_to_string(&path)
            .map_err(|error| format!("cannot read the table {}: {error}", path.display()))?;
        let mut given = Vec::new();
        for (number, fields) in rows_of_numbers(&text) {
            let entry = parse_entry(&fields).ok_or_else(|| {
                format!(
                    "{}:{number}: expected i, j, k, direction (0, 1, 2 or x, y, z), value, such as 0, 4, 12, z, -0.01",
                    path.display()
                )
            })?;
            nodal_table(self.mesh, &[entry], name, None)
                .map_err(|message| format!("{}:{number}: {message}", path.display()))?;
            given.push(entry);
        }
        if given.is_empty() {
            return Err(format!("{}: the table is empty", path.display()));
        }
        nodal_table(self.mesh, &given, name, Some(magnitude))
    }
}

fn parse_entry(fields: &[&str]) -> Option<Given> {
    let [i, j, k, direction, value] = fields else { return None };
    // Programs that write numbers of one kind only write 12 as 1.2e+01.
    let index = |text: &str| {
        let index = text.parse::<f64>().ok()?;
        (index.fract() == 0.0 && (0.0..f64::from(1 << 21)).contains(&index)).then_some(index as u32)
    };
    let direction = match *direction {
        "x" | "X" => 0,
        "y" | "Y" => 1,
        "z" | "Z" => 2,
        number => index(number).filter(|&direction| direction < 3)? as u8,
    };
    let value = value.parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some(Given { node: [index(i)?, index(j)?, index(k)?], direction, value })
}
