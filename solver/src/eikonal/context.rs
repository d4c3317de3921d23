//! What one run has at hand while it solves and writes.

use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::summary::Latest;
use pogo_formats::eikonal::{EikonalSetup, TreesView};
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::words::counted;
use pogo_kernels::eikonal::{EikonalError, EikonalProblem, Joint, exact_ball};
use pogo_kernels::simd::Real;

use super::ecg::Electric;
use crate::call::Call;
use crate::error::{Kept, SolveError};

/// What one run has at hand while it solves and writes.
pub(super) struct Context<'a> {
    pub setup: &'a EikonalSetup,
    pub call: &'a Call<'a>,
    pub problem: EikonalProblem<'a>,
    pub domains: &'a SubDomainsView<'a>,
    pub trees: &'a TreesView<'a>,
    /// The trees, coupled to the tissue, if there are any.
    pub joint: Option<Joint>,
    /// The ECG, if one is asked for.
    pub electric: Option<Electric<'a>>,
}

impl Context<'_> {
    /// The error of a solve: a device that is lost leaves nothing.
    pub fn failed(&self, error: EikonalError) -> SolveError {
        match error {
            EikonalError::Device(source) => SolveError::DeviceLost { source, kept: Kept::Nothing },
            error => self.call.refuse(error),
        }
    }

    /// Starts, those of the exact balls included.
    pub fn with_balls(&self, starts: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
        match self.setup.settings.exact_radius {
            radius if radius > 0.0 => exact_ball(&self.problem, &starts, radius),
            _ => starts,
        }
    }

    /// A warning about elements that block the wave within the balls round `starts`; `with_balls` are the nodes of the balls.
    pub fn blocked_in_balls(&self, starts: &[(u32, f64)], with_balls: &[(u32, f64)]) -> Option<String> {
        let (mesh, radius) = (&self.problem.mesh, self.setup.settings.exact_radius);
        let mut inside = vec![false; mesh.n_nodes()];
        with_balls.iter().for_each(|&(node, _)| inside[node as usize] = true);
        starts.iter().for_each(|&(node, _)| inside[node as usize] = false);
        let reached = |&e: &usize| mesh.nodes(e).iter().any(|&node| inside[node as usize]);
        let blocked = (0..mesh.n_elements()).into_par_iter().filter(|&e| self.problem.metrics.of(e).is_none());
        let n = blocked.filter(reached).count();
        (n > 0).then(|| {
            let which = counted(n, "element");
            format!(
                "within the exact radius of {radius} lie {which} without speed: behind them times are those of straight \
                 lines, too early; a smaller radius leaves them out"
            )
        })
    }

    /// The node with the latest finite time; of several, the first in the mesh's file.
    pub fn latest<T: Real>(&self, time: &[T]) -> Option<Latest> {
        let mesh = &self.problem.mesh;
        let times = time.par_iter().enumerate().with_min_len(1 << 14).map(|(node, t)| (t.to_f64(), node));
        let finite = times.filter(|(t, _)| t.is_finite());
        let order = |a: &(f64, usize), b: &(f64, usize)| {
            a.0.total_cmp(&b.0).then(mesh.original_node[b.1].cmp(&mesh.original_node[a.1]))
        };
        let (time, node) = finite.max_by(order)?;
        Some(Latest { node: mesh.node_labels[node], index: mesh.original_node[node], time, position: mesh.point(node) })
    }
}
