//! The parts of a file in their order, as they lie there.

use super::Found;
use super::cursor::{Codes, Cursor, Integers, Reals};

/// Most nodes an element can have in a file: more is damage.
const MOST_NODES: u64 = 64;
/// Value of a number of stored nodes that stands for all.
const ALL_NODES: u32 = u32::MAX;

/// A file, with lists that are read where they are used.
pub(super) struct Layout<'a> {
    /// Names and values, as text.
    pub metadata: Vec<(String, String)>,
    pub dimension: usize,
    pub dofs_a_node: usize,
    pub notes: String,
    pub run_name: String,
    pub n_increments: u32,
    /// s.
    pub increment: f64,
    pub n_nodes: usize,
    pub positions: Reals<'a>,
    pub elements: Elements<'a>,
    pub element_types: Vec<String>,
    pub materials: Vec<Parameters>,
    pub orientations: Vec<Parameters>,
    pub fixed: Codes<'a>,
    pub ties: Vec<Tie<'a>>,
    pub groups: Vec<Group<'a>>,
    pub shots: Vec<Shot<'a>>,
    pub measurements: Measurements<'a>,
    pub field_increments: Integers<'a>,
    /// Nodes of fields; none for all.
    pub field_nodes: Option<usize>,
    pub exchange: Exchange<'a>,
}

pub(super) struct Elements<'a> {
    pub n: usize,
    pub most_nodes: usize,
    pub types: Integers<'a>,
    pub materials: Integers<'a>,
    pub orientations: Integers<'a>,
    pub nodes: Integers<'a>,
}

/// A material or an orientation.
pub(super) struct Parameters {
    pub kind: i32,
    /// Material that it was derived from, or −1.
    pub parent: i32,
    pub values: Vec<f64>,
    /// Byte at which it begins.
    pub at: usize,
}

pub(super) struct Tie<'a> {
    pub transform: Vec<f64>,
    pub masters: Integers<'a>,
    pub slaves: Integers<'a>,
}

/// Weighted degrees of freedom.
pub(super) struct Group<'a> {
    pub dofs: Codes<'a>,
    pub weights: Reals<'a>,
}

pub(super) struct Shot<'a> {
    /// Sampling interval, s.
    pub interval: f64,
    pub signals: Vec<Signal<'a>>,
}

pub(super) struct Signal<'a> {
    /// 0 force, 1 displacement, 2 velocity.
    pub kind: i32,
    /// The codes are numbers of groups.
    pub of_groups: bool,
    pub dofs: Codes<'a>,
    pub amplitudes: Reals<'a>,
    pub samples: Reals<'a>,
    /// Byte at which it begins.
    pub at: usize,
}

pub(super) struct Measurements<'a> {
    pub every: i32,
    /// First increment, from 0.
    pub first: i32,
    pub at: usize,
    pub sets: Vec<MeasurementSet<'a>>,
}

pub(super) struct MeasurementSet<'a> {
    pub name: String,
    pub of_groups: bool,
    pub dofs: Codes<'a>,
}

/// What parts of a divided model send to each other.
pub(super) struct Exchange<'a> {
    pub n_divisions: u32,
    pub this_division: u32,
    /// For each division the nodes that are sent to it, and those that come from it.
    pub lists: Vec<(Integers<'a>, Integers<'a>)>,
}

/// Reads all parts.
///
/// # Errors
/// The first thing that cannot be.
pub(super) fn read<'a>(from: &mut Cursor<'a>) -> Found<Layout<'a>> {
    let metadata = if from.version >= 11 { metadata(from)? } else { Vec::new() };
    from.begin("generalInfo")?;
    let at = from.at;
    from.real_size = match from.int("the precision")? {
        precision @ (4 | 8) => precision as usize,
        other => return Err(format!("the precision is {other} (byte {at}), not 4 or 8: the file is damaged")),
    };
    let dimension = one_to_three(from, "the number of dimensions")?;
    let dofs_a_node =
        if from.version >= 2 { one_to_three(from, "the number of degrees of freedom a node")? } else { dimension };
    let (notes, run_name) = (from.text(1024, "the notes")?, from.text(80, "the name of the run")?);
    let n_increments = from.unsigned("the number of increments")?;
    let increment = from.real("the time increment")?;
    from.begin("nodes")?;
    let n_nodes = from.unsigned("the number of nodes")?;
    let positions = from.reals(u64::from(n_nodes) * dimension as u64, "the list of node positions")?;
    let elements = elements(from)?;
    no_pml(from)?;
    let element_types = element_types(from)?;
    let has_parents = from.version >= 9;
    let materials = parameters(from, "matTypes", "the materials", has_parents)?;
    let orientations = parameters(from, "orientations", "the orientations", false)?;
    from.begin("fixDof")?;
    let n_fixed = from.wide_count("the number of fixed degrees of freedom")?;
    let fixed = from.codes(n_fixed, "the list of fixed degrees of freedom")?;
    let ties = if from.version >= 6 { ties(from, dofs_a_node)? } else { Vec::new() };
    let groups = if from.version >= 8 { groups(from)? } else { Vec::new() };
    let shots = shots(from)?;
    let measurements = if from.version >= 5 { measurements(from)? } else { early_measurements(from)? };
    let (field_increments, field_nodes) = field_stores(from)?;
    let exchange = if from.version >= 15 { exchange(from)? } else { Exchange::none() };
    from.finish()?;
    Ok(Layout {
        metadata,
        dimension,
        dofs_a_node,
        notes,
        run_name,
        n_increments,
        increment,
        n_nodes: n_nodes as usize,
        positions,
        elements,
        element_types,
        materials,
        orientations,
        fixed,
        ties,
        groups,
        shots,
        measurements,
        field_increments,
        field_nodes,
        exchange,
    })
}

fn one_to_three(from: &mut Cursor, what: &str) -> Found<usize> {
    let at = from.at;
    match from.int(what)? {
        n @ 1..=3 => Ok(n as usize),
        other => Err(format!("{what} is {other} (byte {at}), not 1 to 3: the file is damaged")),
    }
}

fn metadata(from: &mut Cursor) -> Found<Vec<(String, String)>> {
    from.begin("metadata")?;
    if !from.has_sections() {
        from.int("the size of the metadata")?;
    }
    let n = from.count("the number of metadata values")?;
    let mut values = Vec::new();
    for _ in 0..n {
        let length = from.count("the length of a metadata name")?;
        let untyped = if from.version < 13 { Some(from.count("the length of a metadata value")?) } else { None };
        let name = from.text(length, "a metadata name")?;
        let value = match untyped {
            Some(length) => from.text(length, "a metadata value")?,
            None => {
                let at = from.at;
                let kind = from.text(16, "the type of a metadata value")?;
                match typed(from, &kind)? {
                    Some(value) => value,
                    None if from.has_sections() => {
                        from.warnings
                            .push(format!("metadata `{name}` and what follows it: unknown type `{kind}`, skipped"));
                        from.skip_section();
                        return Ok(values);
                    }
                    None => {
                        return Err(format!("metadata `{name}`: unknown type `{}` (byte {at})", kind.escape_debug()));
                    }
                }
            }
        };
        values.push((name, value));
    }
    Ok(values)
}

/// A metadata value as text; none of a type that is not known.
fn typed(from: &mut Cursor, kind: &str) -> Found<Option<String>> {
    /// Numbers that are shown of a value.
    const SHOWN: usize = 8;
    let size = match kind {
        "string" => {
            let length = from.count("the length of a metadata text")?;
            return from.text(length, "a metadata text").map(Some);
        }
        "double" => 8,
        "int32" => 4,
        _ => return Ok(None),
    };
    let n_dimensions = from.count("the number of dimensions of a metadata value")?;
    let shape = from.integers(n_dimensions, "the shape of a metadata value")?;
    let lengths = shape.iter().map(|n| u64::try_from(n).unwrap_or(u64::MAX));
    let n = lengths.fold(1u64, u64::saturating_mul);
    let bytes = from.take(n, size, "a metadata value")?;
    let number = |bytes: &[u8]| match *bytes {
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).to_string(),
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]).to_string(),
        _ => String::new(),
    };
    let mut shown: Vec<String> = bytes.chunks_exact(size).take(SHOWN).map(number).collect();
    if n > SHOWN as u64 {
        shown.push(format!("… ({n} numbers)"));
    }
    Ok(Some(shown.join(" ")))
}

fn elements<'a>(from: &mut Cursor<'a>) -> Found<Elements<'a>> {
    from.begin("elements")?;
    let n = u64::from(from.unsigned("the number of elements")?);
    let at = from.at;
    let most_nodes = from.count("the number of nodes an element")?;
    if most_nodes > MOST_NODES || most_nodes == 0 && n > 0 {
        return Err(format!("elements have {most_nodes} nodes each (byte {at}): the file is damaged"));
    }
    let types = from.integers(n, "the list of element types")?;
    let materials = from.integers(n, "the list of materials of elements")?;
    let orientations = from.integers(n, "the list of orientations of elements")?;
    let nodes = from.integers(n * most_nodes, "the list of nodes of elements")?;
    Ok(Elements { n: n as usize, most_nodes: most_nodes as usize, types, materials, orientations, nodes })
}

fn no_pml(from: &mut Cursor) -> Found<()> {
    if from.version < 3 {
        return Ok(());
    }
    from.begin("pml")?;
    let at = from.at;
    match (from.int("the number of PML sets")?, from.int("the number of PML parameters")?) {
        (0, 0) => Ok(()),
        (sets, parameters) => Err(format!(
            "perfectly matched layers (pml: {sets} sets, {parameters} parameters, byte {at}) are not computed: use a layer of \
             absorbing materials"
        )),
    }
}

fn element_types(from: &mut Cursor) -> Found<Vec<String>> {
    from.begin("elTypes")?;
    let n = from.count("the number of element types")?;
    let mut types = Vec::new();
    for _ in 0..n {
        let name = from.text(20, "the name of an element type")?;
        let at = from.at;
        let kind = from.int("the kind of parameters of an element type")?;
        let n = from.count("the number of parameters of an element type")?;
        from.reals(n, "the parameters of an element type")?;
        if kind != 0 || n != 0 {
            from.warnings
                .push(format!("element type {name} has {n} parameters of kind {kind} (byte {at}), which are not used"));
        }
        types.push(name);
    }
    Ok(types)
}

fn parameters(from: &mut Cursor, section: &'static str, what: &str, has_parents: bool) -> Found<Vec<Parameters>> {
    from.begin(section)?;
    let n = from.count(&format!("the number of {what}"))?;
    let mut all = Vec::new();
    for _ in 0..n {
        let at = from.at;
        let parent = if has_parents { from.int("the parent of a material")? } else { -1 };
        let kind = from.int(&format!("the type of one of {what}"))?;
        let n = from.count(&format!("the number of values of one of {what}"))?;
        let values = from.reals(n, &format!("the values of one of {what}"))?.to_vec();
        all.push(Parameters { kind, parent, values, at });
    }
    Ok(all)
}

fn ties<'a>(from: &mut Cursor<'a>, dofs_a_node: usize) -> Found<Vec<Tie<'a>>> {
    from.begin("ties")?;
    let n = from.count("the number of tie sets")?;
    let mut ties = Vec::new();
    for _ in 0..n {
        let transform = from.reals((dofs_a_node * dofs_a_node) as u64, "the transform of a tie set")?.to_vec();
        let n = from.count("the number of ties")?;
        let masters = from.integers(n, "the list of master nodes")?;
        let slaves = from.integers(n, "the list of slave nodes")?;
        ties.push(Tie { transform, masters, slaves });
    }
    Ok(ties)
}

fn groups<'a>(from: &mut Cursor<'a>) -> Found<Vec<Group<'a>>> {
    from.begin("dofGroups")?;
    let n = from.count("the number of groups")?;
    let mut groups = Vec::new();
    for _ in 0..n {
        let n = from.count("the number of degrees of freedom of a group")?;
        let dofs = from.codes(n, "the degrees of freedom of a group")?;
        groups.push(Group { dofs, weights: from.reals(n, "the weights of a group")? });
    }
    Ok(groups)
}

fn shots<'a>(from: &mut Cursor<'a>) -> Found<Vec<Shot<'a>>> {
    from.begin("signals")?;
    let n = if from.version >= 7 { from.count("the number of shots")? } else { 1 };
    let mut shots = Vec::new();
    for _ in 0..n {
        let n_signals = from.count("the number of signals")?;
        let n_samples = from.count("the number of samples of a signal")?;
        let interval = from.real("the sampling interval of signals")?;
        let mut signals = Vec::new();
        for _ in 0..n_signals {
            let at = from.at;
            let n = from.count("the number of degrees of freedom of a signal")?;
            let kind = if from.version >= 1 { from.int("the type of a signal")? } else { 0 };
            let of_groups = is_of_groups(from)?;
            let dofs = from.codes(n, "the degrees of freedom of a signal")?;
            let amplitudes = from.reals(n, "the amplitudes of a signal")?;
            let samples = from.reals(n_samples, "the samples of a signal")?;
            signals.push(Signal { kind, of_groups, dofs, amplitudes, samples, at });
        }
        shots.push(Shot { interval, signals });
    }
    Ok(shots)
}

fn is_of_groups(from: &mut Cursor) -> Found<bool> {
    Ok(from.version >= 8 && from.byte("the mark of groups")? != 0)
}

fn measurements<'a>(from: &mut Cursor<'a>) -> Found<Measurements<'a>> {
    from.begin("measurements")?;
    let n = from.count("the number of measurement sets")?;
    let at = from.at;
    let (every, first) = (from.int("the interval of measurements")?, from.int("the first measurement")?);
    let mut sets = Vec::new();
    for _ in 0..n {
        let name = from.text(20, "the name of a measurement set")?;
        let n = from.count("the number of measurements")?;
        let of_groups = is_of_groups(from)?;
        sets.push(MeasurementSet { name, of_groups, dofs: from.codes(n, "the list of measurements")? });
    }
    Ok(Measurements { every, first, at, sets })
}

/// To 1.04: one set without a name.
fn early_measurements<'a>(from: &mut Cursor<'a>) -> Found<Measurements<'a>> {
    from.begin("measurements")?;
    let n = from.count("the number of measurements")?;
    let at = from.at;
    let every = from.int("the interval of measurements")?;
    let first = if from.version >= 4 { from.int("the first measurement")? } else { 0 };
    let dofs = from.codes(n, "the list of measurements")?;
    let sets = if n == 0 { Vec::new() } else { vec![MeasurementSet { name: "main".into(), of_groups: false, dofs }] };
    Ok(Measurements { every, first, at, sets })
}

fn field_stores<'a>(from: &mut Cursor<'a>) -> Found<(Integers<'a>, Option<usize>)> {
    from.begin("fieldStores")?;
    let n = from.count("the number of stored fields")?;
    let increments = from.integers(n, "the increments of stored fields")?;
    let mut nodes = None;
    if from.version >= 5 {
        let n = from.unsigned("the number of nodes of stored fields")?;
        if n != ALL_NODES {
            nodes = Some(from.integers(u64::from(n), "the nodes of stored fields")?.len());
        }
    }
    Ok((increments, nodes))
}

impl Exchange<'_> {
    fn none() -> Self {
        Self { n_divisions: 0, this_division: 0, lists: Vec::new() }
    }
}

fn exchange<'a>(from: &mut Cursor<'a>) -> Found<Exchange<'a>> {
    from.begin("mpi")?;
    let n_divisions = from.unsigned("the number of divisions")?;
    let this_division = from.unsigned("the number of this division")?;
    let mut lists = Vec::new();
    for _ in 0..n_divisions {
        let n = from.unsigned("the number of nodes that are sent")?;
        let sent = from.integers(u64::from(n), "the nodes that are sent")?;
        let n = from.unsigned("the number of nodes that are received")?;
        lists.push((sent, from.integers(u64::from(n), "the nodes that are received")?));
    }
    Ok(Exchange { n_divisions, this_division, lists })
}
