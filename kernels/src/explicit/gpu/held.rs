//! Linear constraints: after a step, kernels project the motion onto them (held.cuh), as `held` of the CPU does
//! ([`projection`](crate::explicit::projection)).
//!
//! The sparse part is solved by dense inverses, one a set of unknowns that hang together: a device multiplies by a matrix of
//! thousands of rows in less time than a thread block needs for one level of an elimination tree after the other. A tie of two
//! surfaces has a set a component; the followers of a rigid body are sets of one row each, beside a small border.

use super::layout::{FORCE, MONITOR, NONE, Special, THREADS};
use super::tables::Tables;
use crate::device::layout::{In, Out, layouts};
use crate::device::{Arena, DeviceError, Gpu, Plain as _, Plan, field};
use crate::explicit::dashpot::flat;
use crate::explicit::projection::{Projection, Sets};
use crate::explicit::ties::TieNodes;
use crate::explicit::{Problem, ProjectionError};
use crate::simd::Real;

layouts! {
    header "explicit/gpu/constraints.cuh", numbers template;

    constants {
        /// Kind of a `Special` beside those of `layout.cuh`: a monitor of the force that constraints put on a degree of freedom.
        PULL: u32 = 3;
        /// Threads that share a sparse sum, and those that share a dense one.
        FEW_LANES: u32 = 8;
        LANES: u32 = 32;
    }

    opaque {}

    /// A row of the sparse part, in the order of the sets.
    struct Unknown {
        /// First number of its row in `inverse`.
        matrix: u64,
        /// The unknowns of its set.
        begin: u32,
        n: u32,
        first_term: u32,
        end_of_terms: u32,
        first_moving: u32,
        end_of_moving: u32,
    }

    /// A coefficient of a touched degree of freedom or of an unknown.
    struct Term {
        coefficient: f64,
        at: u64,
    }

    /// A prescribed massless unknown in a row: its coefficient times its value at signal 1.
    struct MovingTerm {
        value: f64,
        signal: u32,
        reserved: u32,
    }

    /// A degree of freedom that rows name.
    struct Touched {
        /// 1/m, 1/kg; 0 where it is prescribed.
        inverse_mass: f64,
        /// α m / 4Δt.
        dissipation: f64,
        /// Its place in the arrays of the state.
        at: u64,
        /// What is prescribed, at signal 1. The signal is NONE where nothing is.
        value: f64,
        signal: u32,
        first_term: u32,
        end_of_terms: u32,
        /// Its entry in `special_first`.
        special: u32,
        /// Its entry in `coupled`, or NONE. The first component of such a node stands for all, which follow it.
        coupled: u32,
        /// Component of its node.
        component: u32,
    }

    /// A node with a dashpot.
    struct Coupled {
        /// M⁻¹, 1/kg; 0 of components that are prescribed.
        inverse: [f64; 9],
        /// G, N s/m.
        matrix: [f64; 9],
    }

    /// An unknown of a border.
    struct Bordered {
        /// First numbers of its row in `responses` and in `border_inverse`.
        response: u64,
        inverse: u64,
        /// First of the sparse unknowns of its set in `inner`.
        first_inner: u32,
        n_inner: u32,
        /// The unknowns of its border.
        begin: u32,
        n: u32,
        /// Its sparse unknown, or NONE for a massless one.
        row: u32,
        reserved: u32,
    }

    /// A sparse unknown that a border corrects.
    struct Inner {
        /// Its first number in `responses`; the others follow at distances of `n_inner`.
        response: u64,
        n_inner: u32,
        unknown: u32,
        /// The unknowns of its border.
        begin: u32,
        n: u32,
    }

    /// Linear constraints.
    struct Held {
        unknowns: In<Unknown>,
        terms: In<Term>,
        moving: In<MovingTerm>,
        inverse: In<f64>,
        bordered: In<Bordered>,
        inner: In<Inner>,
        /// (n, n_inner) of each border.
        responses: In<f64>,
        border_inverse: In<f64>,
        touched: In<Touched>,
        /// Null where no touched node has a dashpot.
        coupled: In<Coupled>,
        /// Rows of each touched degree of freedom.
        pulls: In<Term>,
        right: Out<f64>,
        found: Out<f64>,
        border_right: Out<f64>,
        border_found: Out<f64>,
        n_unknowns: u32,
        n_bordered: u32,
        n_inner: u32,
        n_touched: u32,
        /// First row of `energies`.
        energy: u32,
        /// 1 if u is projected, and not Δu.
        fixes: u32,
        /// Components of a node that rows may name.
        components: u32,
        reserved: u32,
    }
}

/// Most unknowns of a set: the matrix has 2 GB then.
const LARGEST_SET: usize = 16384;

/// What joins nodes of any blocks in a model.
pub(super) struct Joints {
    /// Linear constraints of solids and of fluids.
    pub joined: [Option<Joined>; 2],
    /// Fluids and solids.
    pub ties: Option<TieNodes>,
}

impl Joints {
    /// # Errors
    /// As for [`Projection::new`].
    pub fn new(problem: &Problem) -> Result<Self, ProjectionError> {
        let of_projection = |projection: Projection| Joined { sets: projection.sets(), projection };
        let joined = problem.projections()?.map(|projection| projection.map(of_projection));
        let moved = joined[0].iter().flat_map(|joined| joined.projection.moved());
        let ties = TieNodes::new(problem, moved);
        Ok(Self { joined, ties })
    }

    /// The nodes, with repetitions; nothing where none are joined.
    pub fn nodes(&self, dimension: usize) -> Vec<u32> {
        let touched = self.joined.iter().flatten().flat_map(|joined| joined.projection.touched());
        let of_rows = touched.map(|dof| (dof / dimension as u64) as u32);
        of_rows.chain(self.ties.iter().flat_map(TieNodes::all).map(|tie| tie.node)).collect()
    }

    /// Checks that a device can hold the matrices of linear constraints, before they are made.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(&self, gpu: &Gpu, advice: &'static str) -> Result<(), DeviceError> {
        self.joined.iter().flatten().try_for_each(|joined| joined.check(gpu, advice))
    }
}

/// The projection of a problem, and the sets of its unknowns.
pub(super) struct Joined {
    projection: Projection,
    sets: Sets,
}

impl Joined {
    /// Checks that a device can hold the matrices, before they are made.
    ///
    /// # Errors
    /// It cannot.
    fn check(&self, gpu: &Gpu, advice: &'static str) -> Result<(), DeviceError> {
        let n = self.sets.largest();
        if n > LARGEST_SET {
            return Err(DeviceError::Constraints { n, most: LARGEST_SET });
        }
        gpu.require(self.sets.ranges().map(|set| 8 * (set.len() * set.len()) as u64).sum(), advice)
    }
}

/// The constraints of a model as kernels have them.
#[derive(Default)]
pub(super) struct HeldTables {
    unknowns: Vec<Unknown>,
    terms: Vec<Term>,
    moving: Vec<MovingTerm>,
    inverse: Vec<f64>,
    bordered: Vec<Bordered>,
    inner: Vec<Inner>,
    responses: Vec<f64>,
    border_inverse: Vec<f64>,
    touched: Vec<Touched>,
    coupled: Vec<Coupled>,
    pulls: Vec<Term>,
    energy: u32,
    components: u32,
}

impl HeldTables {
    /// Those of a projection; lists what acts on its degrees of freedom, and gives them rows of energies.
    pub fn new<T: Real>(problem: &Problem, (joined, components): (&Joined, usize), tables: &mut Tables<T>) -> Self {
        let (energy, components) = (tables.n_energy_rows as u32, components as u32);
        let mut held = Self { energy, components, ..Self::default() };
        let mut place = vec![0; joined.sets.unknowns.len()];
        (0..).zip(&joined.sets.unknowns).for_each(|(at, &unknown)| place[unknown as usize] = at);
        held.add_unknowns(joined);
        held.add_borders(joined, &place);
        held.add_touched(problem, joined, &place, tables);
        tables.n_energy_rows += held.touched.len().div_ceil((THREADS / FEW_LANES) as usize);
        held
    }

    fn add_unknowns(&mut self, joined: &Joined) {
        let matrices = joined.projection.matrices(&joined.sets);
        let mut moving = joined.projection.moving().to_vec();
        moving.sort_by_key(|&(row, _, _)| row);
        for (set, &matrix) in joined.sets.ranges().zip(&matrices.first) {
            for (at, &unknown) in joined.sets.unknowns[set.clone()].iter().enumerate() {
                let [first_term, first_moving] = [self.terms.len() as u32, self.moving.len() as u32];
                // Behind the rows are degrees of freedom that many rows share: their right-hand side is 0.
                if (unknown as usize) < joined.projection.n_rows() {
                    let terms = joined.projection.terms(unknown as usize);
                    self.terms.extend(terms.map(|(place, coefficient)| Term { coefficient, at: place as u64 }));
                }
                let start = moving.partition_point(|&(row, _, _)| row < unknown);
                let of_row = moving[start..].iter().take_while(|&&(row, _, _)| row == unknown);
                self.moving.extend(of_row.map(|&(_, signal, value)| MovingTerm { value, signal, reserved: 0 }));
                self.unknowns.push(Unknown {
                    matrix: matrix + (at * set.len()) as u64,
                    begin: set.start as u32,
                    n: set.len() as u32,
                    first_term,
                    end_of_terms: self.terms.len() as u32,
                    first_moving,
                    end_of_moving: self.moving.len() as u32,
                });
            }
        }
        self.inverse = matrices.values;
    }

    /// `place` is that of each unknown of the sparse part.
    fn add_borders(&mut self, joined: &Joined, place: &[u32]) {
        for border in joined.projection.borders() {
            let (n, n_inner) = (border.n(), border.inner.len());
            let (begin, first_inner) = (self.bordered.len() as u32, self.inner.len() as u32);
            let [responses, inverse] = [self.responses.len() as u64, self.border_inverse.len() as u64];
            for at in 0..n {
                self.bordered.push(Bordered {
                    response: responses + (at * n_inner) as u64,
                    inverse: inverse + (at * n) as u64,
                    first_inner,
                    n_inner: n_inner as u32,
                    begin,
                    n: n as u32,
                    row: border.rows.get(at).map_or(NONE, |&row| place[row as usize]),
                    reserved: 0,
                });
                self.responses.extend(border.responses.iter().skip(at).step_by(n));
            }
            self.border_inverse.extend(border.inverse());
            for (at, &unknown) in border.inner.iter().enumerate() {
                let response = responses + at as u64;
                let unknown = place[unknown as usize];
                self.inner.push(Inner { response, n_inner: n_inner as u32, unknown, begin, n: n as u32 });
            }
        }
    }

    fn add_touched<T: Real>(&mut self, problem: &Problem, joined: &Joined, place: &[u32], tables: &mut Tables<T>) {
        let projection = &joined.projection;
        let touched = projection.touched();
        let mut pulls: Vec<Vec<Term>> = touched.iter().map(|_| Vec::new()).collect();
        for row in 0..projection.n_rows() {
            for (at, coefficient) in projection.terms(row) {
                pulls[at].push(Term { coefficient, at: u64::from(place[row]) });
            }
        }
        let acting = specials(problem, touched);
        let mut acting = acting.as_slice();
        let d = problem.mesh.dimension as u64;
        let unknowns = tables.unknowns as u64;
        let place_of = |dof: u64| dof / d * unknowns + dof % d;
        for (i, (&dof, pulls)) in touched.iter().zip(pulls).enumerate() {
            let first_term = self.pulls.len() as u32;
            self.pulls.extend(pulls);
            self.touched.push(Touched {
                inverse_mass: projection.inverse_mass()[i],
                dissipation: problem.damping((dof / d) as usize)[1],
                at: place_of(dof),
                value: 0.0,
                signal: NONE,
                first_term,
                end_of_terms: self.pulls.len() as u32,
                special: tables.special_first.len() as u32,
                coupled: NONE,
                component: (dof % d) as u32,
            });
            tables.special_first.push(tables.specials.len() as u32);
            let n = acting.partition_point(|&(at, _)| at <= i);
            tables.specials.extend(acting[..n].iter().map(|&(_, special)| special));
            acting = &acting[n..];
        }
        tables.special_first.push(tables.specials.len() as u32);
        for (number, node) in (0..).zip(projection.coupled()) {
            self.coupled.push(Coupled { inverse: flat(node.inverse), matrix: flat(node.matrix) });
            self.touched[node.places.clone()].iter_mut().for_each(|touched| touched.coupled = number);
        }
        for held in &problem.constraints {
            if let Ok(at) = touched.binary_search(&held.dof) {
                (self.touched[at].value, self.touched[at].signal) = (held.value, held.signal);
            }
        }
    }

    /// Kernels of a projection with their thread blocks, in their order.
    pub fn kernels(&self) -> Vec<(&'static str, u32)> {
        let lanes = |n: usize, lanes: u32| (n as u32).div_ceil(THREADS / lanes);
        let mut kernels = vec![
            ("held_rows", lanes(self.unknowns.len(), FEW_LANES)),
            ("held_sets", lanes(self.unknowns.len(), LANES)),
        ];
        if !self.bordered.is_empty() {
            kernels.push(("held_borders", self.bordered.len() as u32));
            kernels.push(("held_border_unknowns", lanes(self.bordered.len(), LANES)));
            kernels.push(("held_inner", lanes(self.inner.len().max(self.bordered.len()), 1)));
        }
        kernels.push(("held_moves", lanes(self.touched.len(), FEW_LANES)));
        kernels
    }

    /// Lists the arrays.
    pub fn plan(&self) -> Plan<'_, Held> {
        let mut plan = Plan::<Held>::default();
        plan.copy(field!(unknowns), &self.unknowns);
        plan.copy(field!(terms), &self.terms);
        plan.copy(field!(moving), &self.moving);
        plan.copy(field!(inverse), &self.inverse);
        plan.copy(field!(bordered), &self.bordered);
        plan.copy(field!(inner), &self.inner);
        plan.copy(field!(responses), &self.responses);
        plan.copy(field!(border_inverse), &self.border_inverse);
        plan.copy(field!(touched), &self.touched);
        plan.copy_if_any(field!(coupled), &self.coupled);
        plan.copy(field!(pulls), &self.pulls);
        plan.zeros::<f64, _>(field!(right), self.unknowns.len());
        plan.zeros::<f64, _>(field!(found), self.unknowns.len());
        plan.zeros::<f64, _>(field!(border_right), self.bordered.len());
        plan.zeros::<f64, _>(field!(border_found), self.bordered.len());
        plan
    }

    /// What the kernels take, without arrays.
    pub fn held(&self) -> Held {
        Held {
            n_unknowns: self.unknowns.len() as u32,
            n_bordered: self.bordered.len() as u32,
            n_inner: self.inner.len() as u32,
            n_touched: self.touched.len() as u32,
            energy: self.energy,
            components: self.components,
            ..Held::zeroed()
        }
    }

    /// Copies the arrays to the device.
    ///
    /// # Errors
    /// Too little memory.
    pub fn place(&self, gpu: &Gpu, advice: &'static str) -> Result<(Held, Arena), DeviceError> {
        let mut held = self.held();
        let arena = self.plan().place(gpu, 0, advice, &mut held)?;
        Ok((held, arena))
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.plan().bytes()
    }
}

/// Forces on touched degrees of freedom, and monitors of their motion and of what constraints put on them, by their place.
fn specials(problem: &Problem, touched: &[u64]) -> Vec<(usize, Special)> {
    let mut specials = Vec::new();
    for force in &problem.forces {
        if let Ok(at) = touched.binary_search(&force.dof) {
            let (value, signal) = (force.value, force.signal);
            specials.push((at, Special { kind: FORCE, value, signal, ..Special::zeroed() }));
        }
    }
    for (column, &dof) in problem.monitors.iter().enumerate() {
        let (kind, dof) = match problem.force_of_monitor(dof) {
            Some(dof) => (PULL, dof),
            None => (MONITOR, dof),
        };
        if let Ok(at) = touched.binary_search(&dof) {
            specials.push((at, Special { kind, column: column as u32, ..Special::zeroed() }));
        }
    }
    specials.sort_by_key(|&(at, special)| (at, special.kind));
    specials
}
