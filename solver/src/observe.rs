//! What a run tells whoever watches it. Nothing here prints.

/// What is known when the time loop starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outlook {
    /// Nodes.
    pub n_nodes: u64,
    /// Elements.
    pub n_elements: u64,
    /// Blocks.
    pub n_blocks: u64,
    /// Step that the run starts from.
    pub first_step: u64,
    /// Last step.
    pub n_steps: u64,
    /// Δt, s.
    pub increment: f64,
    /// Largest stable Δt, s.
    pub stable_increment: f64,
    /// It is a bound on the safe side: the largest may be larger.
    pub is_bound: bool,
    /// Element that limits it, in the user's labels; empty where that is not said.
    pub worst_element: String,
    /// `cpu`.
    pub device: String,
    /// `f32` or `f64`.
    pub precision: &'static str,
    /// Threads.
    pub n_threads: usize,
    /// What nodes and elements are called.
    pub words: [&'static str; 2],
}

/// Watches a run. Every method does nothing unless it is implemented.
pub trait Observer: Send {
    /// The time loop starts.
    fn started(&mut self, _outlook: &Outlook) {}
    /// So many steps are done.
    fn advanced(&mut self, _step: u64) {}
    /// Something that the user should know now.
    fn note(&mut self, _text: &str) {}
    /// The run has ended and its results are on disk; this is to be said of it.
    fn ended(&mut self, _text: &str) {}
}

/// A number in three digits or so with a prefix: `12.3 M`, `930 `; a unit goes behind it.
pub fn with_prefix(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{:.1} G", value / 1e9),
        _ if value >= 1e6 => format!("{:.1} M", value / 1e6),
        _ if value >= 1e3 => format!("{:.1} k", value / 1e3),
        _ => format!("{value:.0} "),
    }
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
