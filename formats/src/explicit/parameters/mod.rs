//! Parameters of explicit dynamics by name: `material.steel.young`, `load.push.magnitude`, `absorbing.side.d_max`,
//! `solver.time`, ….

use std::rc::Rc;

use crate::dynamics::{Load, LoadKind};
use crate::explicit::{AbsorbingLayer, AbsorbingProfile, Elasticity, Material, Section, Setup};
use crate::parameters::dynamics::{amplitudes, increment, names_of};
use crate::parameters::{Adjustable, Fixed, Range, Slot, Table, number, position};
use crate::relaxation::Attenuation;

const ENGINEERING: [(&str, &str, &str); 9] = [
    ("e1", "Pa", "Young's modulus along material axis 1"),
    ("e2", "Pa", "Young's modulus along material axis 2"),
    ("e3", "Pa", "Young's modulus along material axis 3"),
    ("nu12", "", "Poisson's ratio, axis 2 over axis 1"),
    ("nu13", "", "Poisson's ratio, axis 3 over axis 1"),
    ("nu23", "", "Poisson's ratio, axis 3 over axis 2"),
    ("g12", "Pa", "shear modulus, axes 1 and 2"),
    ("g13", "Pa", "shear modulus, axes 1 and 3"),
    ("g23", "Pa", "shear modulus, axes 2 and 3"),
];
const ORTHOTROPIC: [&str; 9] = ["d1111", "d1122", "d2222", "d1133", "d2233", "d3333", "d1212", "d1313", "d2323"];
const ANISOTROPIC: [&str; 21] = [
    "d1111", "d1122", "d2222", "d1133", "d2233", "d3333", "d1112", "d2212", "d3312", "d1212", "d1113", "d2213",
    "d3313", "d1213", "d1313", "d1123", "d2223", "d3323", "d1223", "d1323", "d2323",
];

impl Adjustable for Setup {
    const FIXED: &'static [Fixed] = &[
        Fixed {
            first: &["mesh", "element", "elements", "connectivity", "instance", "part"],
            last: &[],
            reason: "the topology of the mesh is built into the blocks",
        },
        Fixed {
            first: &["node", "nodes", "coordinates"],
            last: &[],
            reason: "node positions are part of the block file",
        },
        Fixed {
            first: &["set", "nset", "elset", "node_set", "element_set"],
            last: &[],
            reason: "sets are resolved when the model is blocked",
        },
        Fixed {
            first: &["partition", "block", "blocks"],
            last: &[],
            reason: "the partition is made when the model is blocked",
        },
        Fixed {
            first: &["section"],
            last: &["elset", "set", "elements"],
            reason: "elements are grouped by section inside each block",
        },
        Fixed {
            first: &["section"],
            last: &["type", "plane", "kind"],
            reason: "the kind of element is part of the mesh",
        },
        Fixed {
            first: &["absorbing"],
            last: &["depth", "thickness", "depth_fraction", "elements", "side"],
            reason: "the depth of each element in the layer is worked out when the model is blocked",
        },
        Fixed {
            first: &["load", "boundary", "initial_velocity", "history"],
            last: &["nodes", "elements", "faces", "weights", "set", "point"],
            reason: "where it acts is resolved when the model is blocked",
        },
        Fixed {
            first: &["boundary", "initial_velocity"],
            last: &["component", "kind"],
            reason: "which components it acts on is resolved when the model is blocked",
        },
    ];

    fn slots(&mut self) -> Vec<Slot<'_>> {
        let material_names: Rc<[String]> = self.materials.iter().map(|material| material.name.clone()).collect();
        let amplitude_names = names_of(&self.amplitudes);
        let mut table = Table::default();
        self.materials.iter_mut().for_each(|item| material(&mut table, item));
        self.sections.iter_mut().for_each(|item| section(&mut table, item, &material_names));
        amplitudes(&mut table, &mut self.amplitudes);
        self.loads.iter_mut().for_each(|item| load(&mut table, item, &amplitude_names));
        self.linear.loads.iter_mut().for_each(|item| load(&mut table, item, &amplitude_names));
        table.boundaries(&mut self.boundaries, &amplitude_names);
        table.boundaries(&mut self.linear.prescribed, &amplitude_names);
        table.initial_velocities(&mut self.initial_velocities);
        self.absorbing_layers.iter_mut().for_each(|item| absorbing(&mut table, item));
        table.histories(&mut self.histories);
        for history in &mut self.element_histories {
            table.prefix = format!("element_history.{}", history.set);
            table.interval(&mut history.interval);
        }
        table.fields(self.fields.iter_mut().map(|field| &mut field.interval));
        table.prefix = "solver".into();
        table.number("time", &mut self.explicit.time, Range::Positive, "s", "length of the run");
        increment(&mut table, &mut self.explicit.increment);
        table.choice("lumping", &mut self.explicit.lumping, "mass lumping: row-sum, hrz or equal");
        table.choice("start", &mut self.explicit.start, "order of the start: second-order or first-order");
        table.slots
    }

    /// The constants of a material are valid only together.
    fn check_change(&self, before: &Self) -> Result<(), String> {
        for (material, before) in self.materials.iter().zip(&before.materials) {
            if material != before && !material.elasticity.is_sound() {
                let name = &material.name;
                return Err(format!(
                    "the stiffness of `{name}` is no longer positive definite (it would create energy)"
                ));
            }
            if material != before {
                self.relaxation_of(material).map_err(|text| format!("material `{}`: {text}", material.name))?;
            }
        }
        Ok(())
    }
}

fn material<'a>(table: &mut Table<'a>, material: &'a mut Material) {
    table.prefix = format!("material.{}", material.name);
    table.number("density", &mut material.density, Range::Positive, "kg/m³", "density");
    match &mut material.elasticity {
        Elasticity::Isotropic { young, poisson } => {
            table.number("young", young, Range::Positive, "Pa", "Young's modulus");
            table.number("poisson", poisson, Range::Poisson, "", "Poisson's ratio");
        }
        Elasticity::EngineeringConstants(constants) => {
            for (constant, (field, unit, help)) in constants.iter_mut().zip(ENGINEERING) {
                table.number(field, constant, if unit == "Pa" { Range::Positive } else { Range::Any }, unit, help);
            }
        }
        Elasticity::Orthotropic(constants) => stiffness(table, constants, &ORTHOTROPIC),
        Elasticity::Anisotropic(constants) => stiffness(table, constants, &ANISOTROPIC),
        Elasticity::Fluid { bulk } => table.number("bulk", bulk, Range::Positive, "Pa", "bulk modulus of the fluid"),
    }
    table.number("alpha", &mut material.damping_alpha, Range::NotNegative, "1/s", "mass-proportional damping");
    table.number("beta", &mut material.damping_beta, Range::NotNegative, "s", "stiffness-proportional damping");
    if let Attenuation::Quality(quality) = &mut material.attenuation {
        table.number("quality_factor", quality, Range::Positive, "", "quality factor over the band of [relaxation]");
    }
}

fn stiffness<'a>(table: &mut Table<'a>, constants: &'a mut [f64], names: &[&str]) {
    for (constant, field) in constants.iter_mut().zip(names) {
        table.number(field, constant, Range::Any, "Pa", "stiffness in the material's axes");
    }
}

fn load<'a>(table: &mut Table<'a>, load: &'a mut Load, amplitude_names: &Rc<[String]>) {
    table.prefix = format!("load.{}", load.name);
    let (unit, direction) = match &mut load.kind {
        LoadKind::Concentrated { direction, .. } => ("N", Some(direction)),
        LoadKind::Pressure { .. } => ("Pa", None),
        LoadKind::Traction { direction, .. } => ("Pa", Some(direction)),
        LoadKind::Body { direction, .. } => ("N/m³", Some(direction)),
        LoadKind::Gravity { direction, .. } => ("m/s²", Some(direction)),
        LoadKind::Volume { .. } => ("m³/s²", None),
    };
    table.number("magnitude", &mut load.magnitude, Range::Any, unit, "size of the load at signal 1");
    table.amplitude(&mut load.amplitude, amplitude_names);
    if let Some(direction) = direction {
        table.direction(direction);
    }
}

fn absorbing<'a>(table: &mut Table<'a>, layer: &'a mut AbsorbingLayer) {
    table.prefix = format!("absorbing.{}", layer.name);
    match &mut layer.profile {
        AbsorbingProfile::Damping { d_max, exponent } => {
            table.number("d_max", d_max, Range::NotNegative, "1/s", "damping at the outer face");
            table.number("exponent", exponent, Range::NotNegative, "", "power of the depth fraction");
        }
        AbsorbingProfile::StiffnessReduction { frequency, wave_speed, thickness: _ } => {
            table.number("frequency", frequency, Range::Positive, "Hz", "frequency to absorb");
            table.number("wave_speed", wave_speed, Range::Positive, "m/s", "speed of the wave to absorb");
        }
    }
}

fn section<'a>(table: &mut Table<'a>, section: &'a mut Section, material_names: &Rc<[String]>) {
    table.prefix = format!("section.{}", section.name);
    let names = Rc::clone(material_names);
    let name = names.get(section.material as usize).map_or("", String::as_str).into();
    let material = &mut section.material;
    let set = move |text: &str| {
        *material = position(&names, text)?;
        Ok(())
    };
    table.push("material", name, "", "name of its material", Box::new(set));
    table.number("thickness", &mut section.thickness, Range::Positive, "m", "out-of-plane thickness (2D)");
    // Rows are (c, s, 0), (−s, c, 0), (0, 0, 1) when the material is turned about z only.
    let axes = &mut section.material_from_global;
    if axes[8] == 1.0 && [2, 5, 6, 7].iter().all(|&at| axes[at] == 0.0) && axes[0] == axes[4] && axes[1] == -axes[3] {
        let angle = axes[1].atan2(axes[0]).to_degrees();
        let set = move |text: &str| {
            let (sin, cos) = Range::Any.check(number(text)?)?.to_radians().sin_cos();
            [axes[0], axes[1], axes[3], axes[4]] = [cos, sin, -sin, cos];
            Ok(())
        };
        table.push("angle", angle.into(), "°", "anticlockwise turn of the material's axes about z", Box::new(set));
    }
    table.number(
        "hourglass_factor",
        &mut section.hourglass_factor,
        Range::NotNegative,
        "",
        "factor on hourglass stiffness",
    );
    table.number("mass_factor", &mut section.mass_factor, Range::Positive, "", "factor on inertia (mass scaling)");
}

#[cfg(test)]
mod tests;
