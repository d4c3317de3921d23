//! Cuts, erasures and additions: when they happen and which springs they name.

use std::ops::Range;

use pogo_formats::spring::{Cut, CutFrame, CutShape};
use pogo_formats::system::parallel::iterate::*;

use super::springs::Springs;
use super::{Cause, Change, SpringProblem};
use crate::dynamics::Part;
use crate::ranks::{Ranks, Reader, Writer};

type Point = [f64; 3];

/// A piece of a plane.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Surface {
    corner: Point,
    normal: Point,
    /// Vectors whose products with x − corner are the coordinates along the edges; both within 0 to 1 on a parallelogram,
    /// and their sum too on a triangle. None for the whole plane.
    within: Option<([Point; 2], bool)>,
}

fn sub(a: Point, b: Point) -> Point {
    std::array::from_fn(|c| a[c] - b[c])
}

fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Point, b: Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

impl Surface {
    /// Between two edges; none if they are parallel.
    fn new(corner: Point, edges: [Point; 2], triangle: bool) -> Option<Self> {
        let normal = cross(edges[0], edges[1]);
        let square = dot(normal, normal);
        let along = |a: Point, b: Point| cross(a, b).map(|x| x / square);
        (square > 0.0).then(|| Self {
            corner,
            normal,
            within: Some(([along(edges[1], normal), along(normal, edges[0])], triangle)),
        })
    }

    /// The segment between two points on different sides goes through.
    fn is_crossed(&self, a: Point, b: Point) -> bool {
        let (from, to) = (dot(sub(a, self.corner), self.normal), dot(sub(b, self.corner), self.normal));
        if (from < 0.0) == (to < 0.0) {
            return false;
        }
        let Some((axes, triangle)) = self.within else { return true };
        let t = from / (from - to);
        let at: Point = std::array::from_fn(|c| a[c] + t * (b[c] - a[c]) - self.corner[c]);
        let [r, s] = axes.map(|axis| dot(axis, at));
        r >= 0.0 && s >= 0.0 && if triangle { r + s <= 1.0 } else { r <= 1.0 && s <= 1.0 }
    }
}

/// Cuts, erasures and additions with their first and last steps, in the order in which those of one step happen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schedule {
    events: Vec<([u64; 2], Cause)>,
}

impl Schedule {
    /// Of a problem, from a step on.
    pub fn new(problem: &SpringProblem, first: u64) -> Self {
        let at = |time: f64| step_at(time, problem.time_increment);
        let cuts = problem.cuts.iter().zip(0..).map(|(cut, index)| (times(cut).map(at), Cause::Cut(index)));
        let erasures = problem.erasures.iter().zip(0..);
        let erasures = erasures.map(|(erasure, index)| ([at(erasure.time); 2], Cause::Erased(index)));
        let additions = problem.additions.iter().zip(0..);
        let additions = additions.map(|(addition, index)| ([at(addition.time); 2], Cause::Added(index)));
        Self { events: cuts.chain(erasures).chain(additions).filter(|([_, end], _)| *end >= first).collect() }
    }

    /// The first step from `step` on before which something happens.
    pub fn next(&self, step: u64) -> Option<u64> {
        self.events.iter().filter(|([_, end], _)| *end >= step).map(|([start, _], _)| step.max(*start)).min()
    }

    /// What happens before a step, given u_n, (n, 3): the springs are changed, and the changes returned in order. Where
    /// several ranks do this, each with u_n of its own part and halo, they all make the same changes.
    pub fn apply(
        &self,
        problem: &SpringProblem,
        springs: &mut Springs,
        step: u64,
        displacement: &[f64],
        by: Option<(&Part, &dyn Ranks)>,
    ) -> Vec<Change> {
        let ordered = |springs: &[[u32; 2]]| springs.iter().map(|&[i, j]| [i.min(j), i.max(j)]).collect();
        let mut changes = Vec::new();
        for &(_, cause) in self.events.iter().filter(|([start, end], _)| (*start..=*end).contains(&step)) {
            let pairs: Vec<[u32; 2]> = match cause {
                Cause::Cut(index) => {
                    let cut = &problem.cuts[index as usize];
                    let surfaces = surfaces(cut, step, problem.time_increment);
                    let whole = std::iter::once(0..problem.n_particles()).collect::<Vec<_>>();
                    let own = by.map_or(&whole[..], |(part, _)| part.own_ranges());
                    let mut pairs = crossed(problem, springs, cut.frame, &surfaces, displacement, own);
                    if let Some((_, ranks)) = by {
                        pairs = of_all_ranks(ranks, &pairs);
                    }
                    pairs.sort_unstable();
                    pairs
                }
                Cause::Erased(index) => ordered(&problem.erasures[index as usize].springs),
                Cause::Added(index) => ordered(&problem.additions[index as usize].springs),
                Cause::Broken => Vec::new(),
            };
            let all = pairs.into_iter().map(|particles| Change { step, particles, cause });
            changes.extend(all.filter(|change| springs.change(change.particles, problem.group_of(change))));
        }
        changes
    }
}

/// The pairs of all ranks, rank by rank.
fn of_all_ranks(ranks: &dyn Ranks, own: &[[u32; 2]]) -> Vec<[u32; 2]> {
    let mut message = Writer::default();
    message.put(own.as_flattened());
    let of_rank = |bytes: Vec<u8>| Reader::new(&bytes).take::<u32>();
    let all: Vec<u32> = ranks.all_gather(message.into_bytes()).into_iter().flat_map(of_rank).collect();
    all.as_chunks().0.to_vec()
}

/// Pairs, lower end first, whose springs a surface crosses; those whose lower end is in some ranges.
fn crossed(
    problem: &SpringProblem,
    springs: &Springs,
    frame: CutFrame,
    surfaces: &[Surface],
    displacement: &[f64],
    ranges: &[Range<usize>],
) -> Vec<[u32; 2]> {
    const CHUNK: usize = 4096;
    let position = |i: usize| {
        let rest = problem.mesh.position(i);
        match frame {
            CutFrame::Rest => rest,
            CutFrame::Current => std::array::from_fn(|c| rest[c] + displacement[3 * i + c]),
        }
    };
    let chunks_of = |range: &Range<usize>| {
        let end = range.end;
        range.clone().step_by(CHUNK).map(move |first| first..end.min(first + CHUNK))
    };
    let chunks: Vec<Range<usize>> = ranges.iter().flat_map(chunks_of).collect();
    let pairs = chunks.into_par_iter().flat_map_iter(|chunk| {
        let mut pairs = Vec::new();
        springs.pairs(chunk, |i, j| {
            let (a, b) = (position(i), position(j));
            if surfaces.iter().any(|surface| surface.is_crossed(a, b)) {
                pairs.push([i as u32, j as u32]);
            }
        });
        pairs
    });
    pairs.collect()
}

/// The first step that begins at a time or after it.
fn step_at(time: f64, dt: f64) -> u64 {
    (time / dt - 1e-9).ceil().max(0.0) as u64
}

/// When a cut begins and ends.
fn times(cut: &Cut) -> [f64; 2] {
    let CutShape::Blade { times, .. } = &cut.shape else { return [cut.time; 2] };
    [times.first(), times.last()].map(|time| cut.time + time.copied().unwrap_or(0.0))
}

/// What cuts before a step: triangles or a parallelogram, or a plane.
fn surfaces(cut: &Cut, step: u64, dt: f64) -> Vec<Surface> {
    match &cut.shape {
        CutShape::Plane { point, normal } => vec![Surface { corner: *point, normal: *normal, within: None }],
        CutShape::Sheet { corner, edges } => Surface::new(*corner, *edges, false).into_iter().collect(),
        CutShape::Blade { .. } => {
            let [start, end] = times(cut);
            let to = if step == step_at(end, dt) { end } else { step as f64 * dt };
            swept(cut, [((step as f64 - 1.0) * dt).max(start), to])
        }
    }
}

/// What a blade sweeps between two times: two triangles from station to station.
fn swept(cut: &Cut, [from, to]: [f64; 2]) -> Vec<Surface> {
    let CutShape::Blade { times, from: ends, to: other_ends } = &cut.shape else { return Vec::new() };
    let stations = times.len().min(ends.len()).min(other_ends.len());
    let mut surfaces = Vec::new();
    for k in 1..stations {
        let (begin, end) = (cut.time + times[k - 1], cut.time + times[k]);
        let (lo, hi) = (begin.max(from), end.min(to));
        if !(lo < hi) {
            continue;
        }
        let at = |points: &[Point], time: f64| -> Point {
            let s = ((time - begin) / (end - begin)).clamp(0.0, 1.0);
            std::array::from_fn(|c| points[k - 1][c] + s * (points[k][c] - points[k - 1][c]))
        };
        let [a, b, c, d] = [at(ends, lo), at(other_ends, lo), at(other_ends, hi), at(ends, hi)];
        surfaces.extend(Surface::new(a, [sub(b, a), sub(c, a)], true));
        surfaces.extend(Surface::new(a, [sub(c, a), sub(d, a)], true));
    }
    surfaces
}
