//! Every deck that others wrote: read with the counts of the manifest, or refused for the right reasons.

use std::collections::BTreeMap;

use pogo_formats::read::deck::{DeckReport, ReadOptions, read};

/// Nodes and elements of each deck, from the table of the manifest.
fn manifest(text: &str) -> BTreeMap<String, (u64, u64)> {
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, file, _, _, nodes, elements, ..] = cells.as_slice()
            && let (Ok(nodes), Ok(elements)) = (nodes.parse(), elements.parse())
        {
            counts.insert((*file).to_owned(), (nodes, elements));
        }
    }
    counts
}

/// What each refusal must name; a deck that is not listed here is read without any option.
const REFUSED: &[(&str, &[&str])] = &[
    ("hakai_Tensile5e.inp", &["*PLASTIC", "*DAMAGE INITIATION"]),
    ("hakai_Tensile-test.inp", &["*PLASTIC", "*DAMAGE INITIATION"]),
    (
        "hakai_Charpy-test-glmsh.inp",
        &["*PLASTIC", "*DAMAGE EVOLUTION", "*TENSILE FAILURE", "*CONTACT", "*FRICTION", "*SURFACE BEHAVIOR"],
    ),
    ("hakai_bullet-impact.inp", &["*PLASTIC", "*DAMAGE INITIATION", "*CONTACT INCLUSIONS", "*SURFACE INTERACTION"]),
    ("hakai_metal-cutting.inp", &["*PLASTIC", "*CONTACT"]),
    ("hakai_crash-tube-80-350-solid.inp", &["*PLASTIC", "*CONTACT"]),
    ("hakai_crash-tube-80-350-solid-glmsh.inp", &["*PLASTIC", "*CONTACT"]),
    ("hakai_projectile-impact-d1mm.inp", &["*PLASTIC", "*CONTACT"]),
    ("hakai_car-crash-N2k.inp", &["*PLASTIC", "*CONTACT"]),
    ("hakai_car-wall-N22k.inp", &["*PLASTIC", "*CONTACT"]),
    ("cae_pff_cpe4_u1.inp", &["U1 (5409", "*USER ELEMENT", "*USER MATERIAL", "*STATIC"]),
    ("cae_pff_cpe4.inp", &["*USER MATERIAL", "*STATIC"]),
    ("cae_scc_cpe8r.inp", &["U1 (6955", "CPE8R (6955", "second *STEP", "*COUPLED TEMPERATURE-DISPLACEMENT"]),
    ("cae_shear_lower_cpe8.inp", &["U1 (200", "CPE8 (200", "*USER MATERIAL", "*STATIC"]),
    ("cae_cpe4t.inp", &["CPE4T (8532", "*USER MATERIAL", "*HEAT GENERATION", "*COUPLED TEMPERATURE-DISPLACEMENT"]),
    ("cae_cpe4_coh2d4.inp", &["COH2D4 (20", "*COHESIVE SECTION", "*STATIC"]),
    ("cae_c3d4.inp", &["*USER MATERIAL", "*STATIC"]),
    ("cae_c3d10.inp", &["C3D10 (3954", "*USER MATERIAL", "*STATIC"]),
    ("cae_cps6.inp", &["CPS6 (693", "*PLASTIC", "*USER MATERIAL", "*STATIC"]),
    ("flat_cpe4_u1.inp", &["U1 (7874", "*USER ELEMENT", "*PLASTIC", "*CYCLICHARDENING", "*STATIC"]),
    ("cae_cax8_small.inp", &["CAX8 (4", "*ELASTIC depends on field variables", "*USER DEFINED FIELD", "*STATIC"]),
    ("jfem_nx_export_problem.inp", &["`conrod`"]),
    ("jfem_cube_tet4.inp", &["*STATIC"]),
    ("jfem_cube_tet4_mixed_case.inp", &["*STATIC"]),
    ("jfem_plate_with_hole.inp", &["S4R (8", "MASS (1", "*SHELL SECTION", "*PLASTIC", "second *STEP", "*STATIC"]),
    ("jfem_multimaterial_advanced.inp", &["*PLASTIC", "*STATIC"]),
    ("pygccx_beam_and_gap.inp", &["GAPUNI (1", "C3D10 (2340", "B32 (1", "*GAP", "*STATIC"]),
    (
        "nakazima_include/nakazima.inp",
        &["*PARAMETER", "W02.inp` does not exist", "*NMAP", "*RIGID BODY", "*CONTACT PAIR", "`<STEP_TIME>`"],
    ),
    ("nakazima_include/material.inp", &["*USER MATERIAL", "outside of a *MATERIAL"]),
    ("nakazima_include/parameter.inp", &["*PARAMETER"]),
    ("waves_include/rectangle_compression.inp", &["rectangle_mesh.inp` does not exist", "*STATIC"]),
    ("waves_include/parts.inp", &["rectangle_mesh.inp` does not exist"]),
    ("waves_include/assembly.inp", &["part `rectangle` does not exist"]),
    ("waves_include/boundary.inp", &["data before the first keyword"]),
    ("waves_include/field_output.inp", &["*NODE OUTPUT must follow *OUTPUT"]),
    ("waves_include/history_output.inp", &["*NODE OUTPUT must follow *OUTPUT"]),
    (
        "ccxcae_default.inp",
        &["C3D10 (8", "C3D15 (12", "C3D20 (1", "*ELASTIC varies with temperature", "*COUPLED TEMPERATURE-DISPLACEMENT"],
    ),
];

#[test]
fn every_deck_is_read_or_refused_for_the_right_reasons() {
    let Some(folder) = pogo_tests::shared("decks") else { return };
    let manifest = manifest(&std::fs::read_to_string(folder.join("MANIFEST.md")).unwrap());
    assert_eq!(manifest.len(), 50, "decks in the manifest");
    let mut wrong = Vec::new();
    for (file, (nodes, elements)) in &manifest {
        let reasons = REFUSED.iter().find(|(name, _)| name == file).map(|(_, reasons)| *reasons);
        let check = |report: &DeckReport| {
            let found = (report.node_lines, report.element_lines());
            (found != (*nodes, *elements)).then(|| format!("{file}: {found:?} instead of {:?}", (nodes, elements)))
        };
        match (read(&folder.join(file), &ReadOptions::default()), reasons) {
            (Ok(deck), None) => wrong.extend(check(&deck.report)),
            (Ok(_), Some(_)) => wrong.push(format!("{file} is not refused")),
            (Err(error), None) => wrong.push(format!("{file} is refused:\n{error}")),
            (Err(error), Some(reasons)) => {
                let text = error.to_string();
                wrong.extend(
                    reasons.iter().filter(|r| !text.contains(*r)).map(|r| format!("{file}: no {r} in\n{text}")),
                );
                // Lines that another keyword of the same deck includes cannot be counted where the file is absent.
                match &error.report {
                    Some(report) => wrong.extend(check(report)),
                    None => wrong.push(format!("{file}: no counts")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn ignoring(list: &[&str]) -> ReadOptions {
    ReadOptions { ignore: list.iter().map(|s| (*s).to_owned()).collect(), require_step: true, ..ReadOptions::default() }
}

#[test]
fn decks_with_contact_and_plasticity_run_without_them_on_request() {
    let Some(folder) = pogo_tests::shared("decks") else { return };
    for (file, ignore, nodes, elements, instances) in [
        ("hakai_Tensile-test.inp", &["PLASTIC"][..], 686, 288, 1),
        ("hakai_car-wall-N22k.inp", &["CONTACT", "PLASTIC"][..], 22218, 10892, 2),
        ("hakai_Charpy-test-glmsh.inp", &["contact", "plastic"][..], 5046 + 105, 3825 + 48, 4),
    ] {
        let deck = read(&folder.join(file), &ignoring(ignore)).unwrap_or_else(|e| panic!("{e}"));
        let (model, notes) = deck.finish().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((model.mesh.n_nodes(), model.mesh.n_elements()), (nodes, elements), "{file}");
        assert!(model.mesh.instances.len() >= instances, "{file}: {:?}", model.mesh.instances);
        assert!(!model.setup.boundaries.is_empty(), "{file}");
        assert!(notes.iter().any(|n| n.text.contains("ignored on request")), "{file}");
    }
}

#[test]
fn mesh_only_decks_take_a_section_from_a_job() {
    let Some(folder) = pogo_tests::shared("decks") else { return };
    use pogo_formats::dynamics::{Increment, Start};
    use pogo_formats::material::{Elasticity, Section};
    use pogo_formats::read::deck::{DeckMaterial, Step};
    for (file, elements) in [("gmsh_native_2d.inp", 2958), ("gmsh_native_tet.inp", 2573), ("cae_c3d4.inp", 36864)] {
        let mut options = ignoring(&["COUPLING"]);
        options.job_sets_time = true;
        options.job_materials = vec!["material-1".into()];
        let mut deck = read(&folder.join(file), &options).unwrap_or_else(|e| panic!("{e}"));
        let steel = DeckMaterial {
            name: "Material-1".into(),
            file: String::new(),
            line: 0,
            density: Some(7800.),
            elasticity: Some(Elasticity::Isotropic { young: 2.1e11, poisson: 0.3 }),
            damping_alpha: 0.,
            damping_beta: 0.,
            attenuation: Default::default(),
        };
        if let Some(material) = deck.materials.first_mut() {
            *material = steel;
        } else {
            deck.materials.push(steel);
            deck.sections.push(Section {
                name: "ALL".into(),
                material: 0,
                material_from_global: [1., 0., 0., 0., 1., 0., 0., 0., 1.],
                thickness: 1.,
                hourglass_factor: 1.,
                mass_factor: 1.,
            });
            deck.assign_section(None, 0);
        }
        deck.step = Some(Step { time: 1., increment: Increment::Automatic { factor: 0.9 }, start: Start::SecondOrder });
        let (model, _) = deck.finish().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(model.mesh.n_elements(), elements, "{file}");
        assert_eq!(model.setup.materials.len(), 1);
        assert_eq!(model.setup.explicit.time, 1.);
    }
}

#[test]
fn reference_cases_are_read_whole() {
    let Some(folder) = pogo_tests::shared("refs/explicit") else { return };
    for (case, nodes, elements, loads, boundaries, histories) in [
        ("bar_cpe3", 3202, 3200, 2, 1, 3),
        ("c3d4_cyl", 1146, 4812, 2, 3, 0),
        ("c3d8_distorted", 2197, 1728, 1, 3, 4),
        ("cpe3_plate_hole", 7485, 14607, 1, 0, 5),
    ] {
        let path = folder.join(case).join(format!("{case}.inp"));
        let (model, notes) = read(&path, &ignoring(&[])).unwrap_or_else(|e| panic!("{e}")).finish().unwrap();
        assert_eq!((model.mesh.n_nodes(), model.mesh.n_elements()), (nodes, elements), "{case}");
        assert_eq!((model.setup.loads.len(), model.setup.boundaries.len()), (loads, boundaries), "{case}");
        assert_eq!(model.setup.fields.len(), 1, "{case}");
        assert_eq!(model.setup.histories.len(), 1, "{case}");
        if histories > 0 {
            assert_eq!(model.setup.histories[0].nodes.len(), histories, "{case}");
        }
        assert!(notes.iter().all(|n| n.text.starts_with("without effect")), "{case}: {notes:?}");
    }
}
