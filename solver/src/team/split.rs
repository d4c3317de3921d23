//! Cuts a model into a sub-domain for each rank.

use pogo_formats::domains::SubDomainsView;
use pogo_formats::words::counted;

/// METIS draws from the one random sequence of the C library: two runs at a time would not be repeatable.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Most that all costs may sum up to.
const MOST_COST: i64 = 1 << 30;

/// A graph of cells: what sub-domains must not divide.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cells {
    /// First entry of each cell in `neighbours`, (n + 1,).
    pub first: Vec<i32>,
    pub neighbours: Vec<i32>,
    /// Nodes that each pair of neighbours needs of each other, as `neighbours`.
    pub shared: Vec<i32>,
    /// What a step of each cell costs, (n,), at least 1.
    pub cost: Vec<i32>,
}

impl Cells {
    /// From the costs of cells, and from what pairs of them share, in any order and any number of times.
    pub fn new(cost: Vec<i32>, pairs: impl Iterator<Item = (u32, u32)>) -> Self {
        Self::of_counted(cost, pairs.map(|pair| (pair, 1)))
    }

    /// The same, where each pair comes with the number of things shared, which add up.
    pub fn of_counted(cost: Vec<i32>, pairs: impl Iterator<Item = ((u32, u32), i32)>) -> Self {
        let differ = pairs.filter(|((a, b), _)| a != b);
        let mut all: Vec<((u32, u32), i32)> = differ.flat_map(|((a, b), n)| [((a, b), n), ((b, a), n)]).collect();
        all.sort_unstable();
        // METIS sums costs in 32 bits.
        let total: i64 = cost.iter().map(|&cost| i64::from(cost)).sum();
        let unit = (total / MOST_COST + 1) as i32;
        let cost = cost.into_iter().map(|cost| (cost / unit).max(1)).collect();
        let mut cells = Self { first: vec![0], cost, ..Self::default() };
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            let (cell, neighbour) = same[0].0;
            cells.first.resize(cell as usize + 1, cells.neighbours.len() as i32);
            cells.neighbours.push(neighbour as i32);
            cells.shared.push(same.iter().map(|(_, n)| n).sum());
        }
        cells.first.resize(cells.cost.len() + 1, cells.neighbours.len() as i32);
        cells
    }

    /// Sub-domain of each cell, (n,): about equal costs, and few nodes that are shared between sub-domains. Each has at
    /// least one cell. The same on every machine.
    ///
    /// # Errors
    /// More sub-domains than cells.
    pub fn cut(&self, n_domains: usize) -> Result<Vec<u32>, String> {
        let n = self.cost.len();
        if n_domains > n {
            return Err(format!(
                "the model has {}, too few for {n_domains} ranks: use at most {n}, or smaller blocks (pogo-block \
                 --block-nodes)",
                counted(n, "block")
            ));
        }
        if n_domains == 1 {
            return Ok(vec![0; n]);
        }
        let cut = self.by_metis(n_domains).filter(|domain| {
            let mut has = vec![false; n_domains];
            domain.iter().for_each(|&d| has[d as usize] = true);
            has.into_iter().all(|has| has)
        });
        Ok(cut.unwrap_or_else(|| self.in_turn(n_domains)))
    }

    fn by_metis(&self, n_domains: usize) -> Option<Vec<u32>> {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut domain = vec![0; self.cost.len()];
        metis::Graph::new(1, n_domains as i32, &self.first, &self.neighbours)
            .ok()?
            .set_vwgt(&self.cost)
            .set_adjwgt(&self.shared)
            .set_option(metis::option::UFactor(1))
            .set_option(metis::option::Seed(1))
            .part_recursive(&mut domain)
            .ok()?;
        Some(domain.into_iter().map(|d| d as u32).collect())
    }

    /// Consecutive cells of about equal cost, where the graph is too small for METIS.
    fn in_turn(&self, n_domains: usize) -> Vec<u32> {
        let (n, total) = (self.cost.len(), self.cost.iter().map(|&cost| i64::from(cost)).sum::<i64>());
        let (mut domain, mut done, mut taken) = (0, 0, 0);
        let mut domains = Vec::with_capacity(n);
        for (cell, &cost) in self.cost.iter().enumerate() {
            let is_full = done * n_domains as i64 >= total * (domain as i64 + 1) || n - cell < n_domains - domain;
            let needed = n - cell <= n_domains - domain - 1 + usize::from(taken == 0);
            if taken > 0 && domain + 1 < n_domains && (is_full || needed) {
                (domain, taken) = (domain + 1, 0);
            }
            domains.push(domain as u32);
            (done, taken) = (done + i64::from(cost), taken + 1);
        }
        domains
    }
}

/// How a model was cut, for people.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Split {
    pub n_domains: usize,
    /// Nodes that others read, over all messages.
    pub halo: usize,
    pub n_messages: usize,
    /// Largest cost of a sub-domain over the mean.
    pub balance: f64,
    /// Time that the cut took, s.
    pub seconds: f64,
}

impl Split {
    /// Of sub-domains with these costs.
    pub fn new(domains: &SubDomainsView, domain: &[u32], cost: &[i32], seconds: f64) -> Self {
        let mut costs = vec![0.0; domains.n_domains()];
        domain.iter().zip(cost).for_each(|(&d, &cost)| costs[d as usize] += f64::from(cost));
        let mean = costs.iter().sum::<f64>() / costs.len() as f64;
        Self {
            n_domains: domains.n_domains(),
            halo: domains.halo.len(),
            n_messages: domains.n_messages(),
            balance: costs.iter().fold(0.0_f64, |most, &cost| most.max(cost)) / mean,
            seconds,
        }
    }

    /// One line, of nodes or particles.
    pub fn line(&self, item: &str, n_items: usize) -> String {
        format!(
            "{} sub-domains: {} of {} in halos ({:.1} %), {}, largest {:.3} of the mean, cut in {:.2} s",
            self.n_domains,
            self.halo,
            counted(n_items, item),
            100.0 * self.halo as f64 / n_items.max(1) as f64,
            counted(self.n_messages, "message"),
            self.balance,
            self.seconds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells in a row.
    fn row(n: u32) -> Cells {
        Cells::new(vec![10; n as usize], (1..n).flat_map(|i| [(i - 1, i); 3]))
    }

    #[test]
    fn every_sub_domain_has_cells_and_about_its_share() {
        for n in [1, 2, 3, 7, 40, 200] {
            let cells = row(n);
            assert_eq!((cells.first.len(), cells.shared.iter().all(|&shared| shared == 3)), (n as usize + 1, true));
            for n_domains in 1..=(n as usize).min(9) {
                for domain in [cells.cut(n_domains).unwrap(), cells.in_turn(n_domains)] {
                    let of = |d: usize| domain.iter().filter(|&&found| found as usize == d).count();
                    let sizes: Vec<usize> = (0..n_domains).map(of).collect();
                    assert_eq!(sizes.iter().sum::<usize>(), n as usize);
                    assert!(sizes.iter().all(|&size| size > 0), "{n} {n_domains}: {sizes:?}");
                    assert!(*sizes.iter().max().unwrap() <= n as usize / n_domains + 2, "{n} {n_domains}: {sizes:?}");
                }
            }
            assert!(cells.cut(n as usize + 1).unwrap_err().contains("too few for"));
            let heavy = Cells::new(vec![i32::MAX; n as usize], (1..n).map(|i| (i - 1, i)));
            assert!(heavy.cost.iter().map(|&cost| i64::from(cost)).sum::<i64>() <= MOST_COST);
        }
    }
}
