//! The loads and traces of transducers.

use pogo_formats::dynamics::{HistoryRequest, Load, LoadKind, NodalQuantity};
use pogo_formats::explicit::job::{DelayLaw, Receive, Transducer};
use pogo_formats::job::{Located, point};
use pogo_formats::words::counted;

use crate::conditions::{Conditions, Geometry, add_amplitude, area_fractions, find_name, name_or};
use crate::elements::{cross, dot, norm, sub};
use crate::prepare::Remarks;

type Vector = [f64; 3];

/// The aperture of a transducer.
struct Aperture {
    centre: Vector,
    /// Along which elements are counted, across it, and the normal: unit vectors.
    axes: [Vector; 3],
    /// Half the lengths along both; the same for a disc.
    half: [f64; 2],
    is_disc: bool,
    /// Unit direction of the force and of what is received.
    direction: Vector,
}

/// A node in the aperture.
struct Place {
    node: u32,
    /// Part of the aperture.
    share: f64,
    /// Along the axis, and across it, m, from the centre.
    at: [f64; 2],
}

/// The nodes of one element.
#[derive(Default)]
struct Element {
    nodes: Vec<u32>,
    /// Parts of the aperture, times the apodisation.
    weights: Vec<f64>,
    /// Mean apodisation, for what is received.
    share: f64,
}

/// Adds the loads and traces of a transducer.
///
/// # Errors
/// Vectors of another dimension or without length, an aperture or element without a node, a name that is taken.
pub(super) fn transducer(
    geometry: &Geometry,
    conditions: &mut Conditions,
    item: &Located<Transducer>,
    index: usize,
    remarks: &mut Remarks,
) -> Result<(), String> {
    let given = &item.value;
    let name = name_or(&given.name, "TRANSDUCER", index);
    let dimension = geometry.mesh().dimension as usize;
    let aperture = aperture(given, dimension)?;
    let (places, distance) = places(geometry, given, &aperture)?;
    let elements = elements(given, &aperture, &places)?;
    let delays = delays(given, &aperture, dimension)?;
    let n_nodes: usize = elements.iter().map(|element| element.nodes.len()).sum();
    let longest = delays.iter().copied().fold(0.0, f64::max);
    let name_of = |k: usize| if given.elements == 1 { name.clone() } else { format!("{name}.{}", k + 1) };
    let mut text =
        format!("transducer {name} has {}, at most {distance:.3e} m from its aperture", counted(n_nodes, "node"));
    if given.elements > 1 {
        text += &format!(", in {}", counted(given.elements, "element"));
    }
    if longest > 0.0 {
        text += &format!("; delays up to {longest:.4e} s");
    }
    remarks.note(&item.place, text);
    if let Some(force) = given.force {
        let amplitude = add_amplitude(&mut conditions.amplitudes, given.amplitude.as_ref(), &name)?;
        for (k, (element, &delay)) in elements.iter().zip(&delays).enumerate() {
            let name = name_of(k);
            if find_name(&conditions.loads, &name, |load| &load.name).is_some() {
                return Err(format!("there is a load {name} already: give the transducer another `name`"));
            }
            let amplitude = match (amplitude, delay > 0.0) {
                (Some(base), true) => Some(delayed(conditions, base, delay, &name)),
                (amplitude, _) => amplitude,
            };
            let (nodes, weights) = (element.nodes.clone(), element.weights.clone());
            let kind = LoadKind::Concentrated { nodes, weights, direction: aperture.direction };
            conditions.loads.push(Load { name, kind, magnitude: force, amplitude });
        }
    }
    receive(conditions, given, &aperture, &elements, name_of, &name)
}

/// A copy of an amplitude that begins later.
fn delayed(conditions: &mut Conditions, base: u32, delay: f64, name: &str) -> u32 {
    let base = &conditions.amplitudes[base as usize];
    let mut copy = base.clone();
    copy.delay += delay;
    copy.name = crate::conditions::unique(name, &conditions.amplitudes, |amplitude| &amplitude.name);
    conditions.amplitudes.push(copy);
    conditions.amplitudes.len() as u32 - 1
}

/// Adds the traces: weighted means of the motion along the direction.
fn receive(
    conditions: &mut Conditions,
    given: &Transducer,
    aperture: &Aperture,
    elements: &[Element],
    name_of: impl Fn(usize) -> String,
    name: &str,
) -> Result<(), String> {
    let sets: Vec<(String, Vec<&Element>)> = match given.receive.map_or(Receive::default(), |word| word.0) {
        Receive::None => Vec::new(),
        Receive::Sum => vec![(name.to_owned(), elements.iter().collect())],
        Receive::Elements => elements.iter().enumerate().map(|(k, element)| (name_of(k), vec![element])).collect(),
    };
    let components: Vec<usize> = (0..3).filter(|&c| aperture.direction[c] != 0.0).collect();
    for (set, elements) in sets {
        if find_name(&conditions.histories, &set, |history| &history.set).is_some() {
            return Err(format!("there is a monitor {set} already: give the transducer another `name`"));
        }
        // Over the whole aperture the shares add up to 1; over an element, to its part.
        let total: f64 = elements.iter().map(|element| element.share).sum();
        let parts = elements.iter().flat_map(|element| element.nodes.iter().zip(&element.weights));
        let weights = parts
            .clone()
            .flat_map(|(_, weight)| components.iter().map(move |&c| weight / total * aperture.direction[c]))
            .collect();
        conditions.histories.push(HistoryRequest {
            set,
            nodes: parts.map(|(&node, _)| node).collect(),
            variables: components.iter().map(|&c| (NodalQuantity::Displacement, c as u8)).collect(),
            weights,
            interval: given.when()?,
        });
    }
    Ok(())
}

/// A unit vector of the mesh's dimension.
fn unit(given: &[f64], dimension: usize, key: &str) -> Result<Vector, String> {
    let vector = point(given, dimension, key)?;
    let length = norm(vector);
    if length.is_normal() { Ok(vector.map(|x| x / length)) } else { Err(format!("`{key}` has no length")) }
}

fn aperture(given: &Transducer, dimension: usize) -> Result<Aperture, String> {
    let centre = point(&given.centre, dimension, "centre")?;
    let direction = unit(&given.direction, dimension, "direction")?;
    let normal = given.normal.as_ref().map_or(Ok(direction), |normal| unit(normal, dimension, "normal"))?;
    let is_disc = dimension == 3 && given.aperture.0.len() == 1;
    let along = match &given.axis {
        Some(axis) => unit(axis, dimension, "axis")?,
        None if dimension == 2 => [-normal[1], normal[0], 0.0],
        None if !is_disc => return Err("a rectangular aperture needs its `axis`".to_owned()),
        None => {
            // Any will do.
            let least = (0..3).min_by(|&a, &b| normal[a].abs().total_cmp(&normal[b].abs())).unwrap_or_default();
            let mut axis = [0.0; 3];
            axis[least] = 1.0;
            let across = cross(normal, axis);
            across.map(|x| x / norm(across))
        }
    };
    if dot(along, normal).abs() > 1e-6 {
        return Err(
            "`axis` must be at right angles to the aperture's normal (`normal`, or else `direction`)".to_owned()
        );
    }
    if is_disc && given.elements > 1 {
        return Err("an array needs a rectangular `aperture` of two lengths".to_owned());
    }
    if dimension == 2 && given.aperture.0.len() != 1 {
        return Err("in a 2D mesh `aperture` is one length".to_owned());
    }
    let lengths = [given.aperture.0[0], given.aperture.0.last().copied().unwrap_or_default()];
    let (half, axes) = (lengths.map(|length| 0.5 * length), [along, cross(normal, along), normal]);
    Ok(Aperture { centre, axes, half, is_disc, direction })
}

/// The nodes of the aperture, and the largest distance from it.
fn places(geometry: &Geometry, given: &Transducer, aperture: &Aperture) -> Result<(Vec<Place>, f64), String> {
    let [along, across, normal] = aperture.axes;
    let at = |node: u32| {
        let arm = sub(geometry.position(node), aperture.centre);
        [dot(arm, along), dot(arm, across)]
    };
    let place = |(node, share): (u32, f64)| Place { node, share, at: at(node) };
    if geometry.mesh().dimension == 2 {
        let end = |sign: f64| [0, 1, 2].map(|k| aperture.centre[k] + sign * aperture.half[0] * along[k]);
        let found = geometry.along_line([end(-1.0), end(1.0)], given.tolerance);
        let found = found.ok_or("no node lies along the aperture; give a larger `tolerance`, or another `centre`")?;
        let nodes = found.nodes.into_iter().zip(found.weights).map(place).collect();
        return Ok((nodes, found.distance));
    }
    let near = given.tolerance.unwrap_or(geometry.rounding());
    let (mut nodes, mut distance) = (Vec::new(), 0.0_f64);
    for node in 0..geometry.mesh().n_nodes() as u32 {
        let height = dot(sub(geometry.position(node), aperture.centre), normal).abs();
        let [u, v] = at(node);
        let is_inside = match aperture.is_disc {
            true => u.hypot(v) <= aperture.half[0] + geometry.rounding(),
            false => [u, v].iter().zip(aperture.half).all(|(x, half)| x.abs() <= half + geometry.rounding()),
        };
        if height <= near && is_inside {
            nodes.push(node);
            distance = distance.max(height);
        }
    }
    if nodes.is_empty() {
        return Err("no node lies in the aperture; give a larger `tolerance`, or another `centre`".to_owned());
    }
    let equal = || vec![1.0 / nodes.len() as f64; nodes.len()];
    let shares = area_fractions(geometry.mesh(), &nodes).unwrap_or_else(equal);
    Ok((nodes.into_iter().zip(shares).map(place).collect(), distance))
}

/// Deals the nodes to the elements. Each element has the same part of the force, but for the apodisation: at its centre in an
/// array, else at each node.
fn elements(given: &Transducer, aperture: &Aperture, places: &[Place]) -> Result<Vec<Element>, String> {
    let n = given.elements;
    let pitch = 2.0 * aperture.half[0] / n as f64;
    let window = given.apodisation.map_or_else(Default::default, |word| word.0);
    let mut elements: Vec<Element> = (0..n).map(|_| Element::default()).collect();
    for place in places {
        let from_end = place.at[0] + aperture.half[0];
        let k = ((from_end / pitch).floor().max(0.0) as usize).min(n - 1);
        let from_middle = from_end - (k as f64 + 0.5) * pitch;
        // A node at the far end of an element is its last.
        if from_middle.abs() > 0.5 * (pitch - given.gap) * (1.0 + 1e-9) {
            continue;
        }
        elements[k].nodes.push(place.node);
        elements[k].weights.push(place.share);
        elements[k].share += place.share;
    }
    for (k, element) in elements.iter_mut().enumerate() {
        if element.nodes.is_empty() {
            return Err(format!(
                "no node lies in element {} of {n}: make the mesh finer there, or the elements wider",
                k + 1
            ));
        }
        let all = std::mem::take(&mut element.share);
        let scale = 1.0 / (n as f64 * all);
        element.weights.iter_mut().for_each(|weight| *weight *= scale);
        if n > 1 {
            let u = (centre_of(aperture, n, k) / aperture.half[0]).abs();
            let factor = window.at(u);
            element.weights.iter_mut().for_each(|weight| *weight *= factor);
        }
        element.share = 1.0 / n as f64;
    }
    if n == 1 {
        let element = &mut elements[0];
        for (weight, place) in element.weights.iter_mut().zip(places) {
            let u = if aperture.is_disc { place.at[0].hypot(place.at[1]) } else { place.at[0].abs() };
            *weight *= window.at(u / aperture.half[0]);
        }
    }
    Ok(elements)
}

/// Place of the middle of element k along the axis, m.
fn centre_of(aperture: &Aperture, n: usize, k: usize) -> f64 {
    aperture.half[0] * ((2 * k + 1) as f64 / n as f64 - 1.0)
}

/// How much later each element acts, s.
fn delays(given: &Transducer, aperture: &Aperture, dimension: usize) -> Result<Vec<f64>, String> {
    let n = given.elements;
    let along = |k: usize| centre_of(aperture, n, k);
    let mut delays: Vec<f64> = match given.delay_law()? {
        DelayLaw::Together => vec![0.0; n],
        DelayLaw::Steering(angle, speed) => (0..n).map(|k| along(k) * angle.sin() / speed).collect(),
        DelayLaw::Focus(focus, speed) => {
            let focus = point(focus, dimension, "focus")?;
            let middle = |k: usize| [0, 1, 2].map(|c| aperture.centre[c] + along(k) * aperture.axes[0][c]);
            (0..n).map(|k| -norm(sub(focus, middle(k))) / speed).collect()
        }
    };
    let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
    delays.iter_mut().for_each(|delay| *delay -= least);
    Ok(delays)
}

#[cfg(test)]
mod tests;
