//! Planar outlines: walls and internal lines as chains of nodes one element size apart.

/// A planar straight-line graph. The first nodes of a mesh are its points, in this order.
///
/// *Walls* separate the body from what is outside it and must close; *lines* are internal: the mesh follows them, so
/// that two materials can meet there or a crack can be opened along them.
#[derive(Debug, Clone)]
pub struct Outline {
    /// Element side length, m.
    pub size: f64,
    /// Positions, m.
    pub points: Vec<[f64; 2]>,
    /// Pairs of point indices between which is outside on one side.
    pub walls: Vec<[u32; 2]>,
    /// Pairs of point indices inside the body.
    pub lines: Vec<[u32; 2]>,
}

/// Whether a chain bounds the body or lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Bounds the body.
    Wall,
    /// Lies inside it.
    Line,
}

impl Outline {
    /// An empty outline for elements of this side length (m).
    pub fn new(size: f64) -> Self {
        Self { size, points: Vec::new(), walls: Vec::new(), lines: Vec::new() }
    }

    /// Adds a point that chains can start and end at, and gives its index.
    pub fn point(&mut self, position: [f64; 2]) -> u32 {
        self.points.push(position);
        (self.points.len() - 1) as u32
    }

    /// A straight chain between two points; gives all its nodes, the ends included.
    pub fn straight(&mut self, from: u32, to: u32, role: Role) -> Vec<u32> {
        let (a, b) = (self.points[from as usize], self.points[to as usize]);
        self.curve(from, to, role, |s| [a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1])])
    }

    /// A chain along `curve(s)`, s from 0 to 1, whose ends are the two points; nodes are equally spaced in arc length.
    /// Gives all its nodes, the ends included. `from == to` makes a closed curve of at least 6 nodes.
    pub fn curve(&mut self, from: u32, to: u32, role: Role, curve: impl Fn(f64) -> [f64; 2]) -> Vec<u32> {
        // Arc length from short chords: 16 an element at the end, found by one refinement.
        let coarse = arc_lengths(&curve, 64);
        let n_chords = (16.0 * coarse[64] / self.size).clamp(64.0, 4e6) as usize;
        let lengths = arc_lengths(&curve, n_chords);
        let total = lengths[n_chords];
        let n_least = if from == to { 6 } else { 1 };
        let n_edges = ((total / self.size).round() as usize).max(n_least);

        let mut chain = vec![from];
        let mut chord = 0;
        for edge in 1..n_edges {
            let target = total * edge as f64 / n_edges as f64;
            while chord + 1 < n_chords && lengths[chord + 1] < target {
                chord += 1;
            }
            let fraction = (target - lengths[chord]) / (lengths[chord + 1] - lengths[chord]).max(f64::MIN_POSITIVE);
            chain.push(self.point(curve((chord as f64 + fraction) / n_chords as f64)));
        }
        chain.push(to);
        let segments = match role {
            Role::Wall => &mut self.walls,
            Role::Line => &mut self.lines,
        };
        segments.extend(chain.windows(2).map(|pair| [pair[0], pair[1]]));
        chain
    }

    /// A closed circle; gives its nodes, each once.
    pub fn circle(&mut self, centre: [f64; 2], radius: f64, role: Role) -> Vec<u32> {
        self.ellipse(centre, [radius, radius], 0.0, role)
    }

    /// A closed ellipse with these semi-axes (m), turned by `angle` (rad); gives its nodes, each once.
    pub fn ellipse(&mut self, centre: [f64; 2], axes: [f64; 2], angle: f64, role: Role) -> Vec<u32> {
        let (sin, cos) = angle.sin_cos();
        let curve = |s: f64| {
            let (v, u) = (std::f64::consts::TAU * s).sin_cos();
            let (x, y) = (axes[0] * u, axes[1] * v);
            [centre[0] + cos * x - sin * y, centre[1] + sin * x + cos * y]
        };
        let start = self.point(curve(0.0));
        let mut chain = self.curve(start, start, role, curve);
        chain.pop();
        chain
    }

    /// Lower left and upper right corner of all points.
    pub fn bounds(&self) -> [[f64; 2]; 2] {
        let mut bounds = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
        for point in &self.points {
            for axis in 0..2 {
                bounds[0][axis] = bounds[0][axis].min(point[axis]);
                bounds[1][axis] = bounds[1][axis].max(point[axis]);
            }
        }
        bounds
    }

    /// Whether a position lies inside the walls (even-odd rule).
    pub fn contains(&self, position: [f64; 2]) -> bool {
        self.walls
            .iter()
            .fold(false, |inside, &wall| inside ^ self.crossing(wall, position[1]).is_some_and(|x| x > position[0]))
    }

    /// Where a segment crosses the horizontal line at `y`; the lower end belongs to it, the upper does not.
    pub(super) fn crossing(&self, segment: [u32; 2], y: f64) -> Option<f64> {
        let [a, b] = segment.map(|end| self.points[end as usize]);
        let (low, high) = if a[1] <= b[1] { (a, b) } else { (b, a) };
        (low[1] <= y && y < high[1]).then(|| low[0] + (y - low[1]) * (high[0] - low[0]) / (high[1] - low[1]))
    }
}

/// Lengths along a curve after each of `n` chords, starting with 0, (n + 1,).
fn arc_lengths(curve: &impl Fn(f64) -> [f64; 2], n: usize) -> Vec<f64> {
    let mut lengths = Vec::with_capacity(n + 1);
    lengths.push(0.0);
    let mut previous = curve(0.0);
    let mut total = 0.0;
    for i in 1..=n {
        let next = curve(i as f64 / n as f64);
        total += (next[0] - previous[0]).hypot(next[1] - previous[1]);
        lengths.push(total);
        previous = next;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_circle_are_equally_spaced() {
        let mut outline = Outline::new(0.1);
        let nodes = outline.circle([1.0, 2.0], 1.0, Role::Wall);
        assert_eq!(nodes.len(), 63);
        for wall in &outline.walls {
            let [a, b] = wall.map(|end| outline.points[end as usize]);
            let length = (a[0] - b[0]).hypot(a[1] - b[1]);
            assert!((length - 0.0997).abs() < 1e-4, "{length}");
        }
        assert!(outline.contains([1.0, 2.9]) && !outline.contains([1.0, 3.1]) && !outline.contains([-0.2, 2.0]));
    }

    #[test]
    fn chains_share_their_ends() {
        let mut outline = Outline::new(0.3);
        let a = outline.point([0.0, 0.0]);
        let b = outline.point([1.0, 0.0]);
        let first = outline.straight(a, b, Role::Wall);
        assert_eq!((first.len(), first[0], first[3]), (4, a, b));
        assert_eq!(outline.straight(b, a, Role::Line).last(), Some(&a));
    }
}
