//! M = D⁻¹ of the elements out of velocities and directions.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::EikonalMeshView;
use super::setup::{Directions, Velocity, VelocityClass};
use crate::system::parallel::iterate::*;
use crate::vector::{cross, dot};

/// Six numbers of a symmetric tensor: xx, yy, zz, xy, yz, zx.
pub type Symmetric = [f64; 6];

/// M of an element that the wave does not enter.
pub const BLOCKED: Symmetric = [f64::INFINITY; 6];

/// An element whose velocity makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{reason}")]
#[allow(missing_docs)]
pub struct MetricError {
    /// Element, solver index.
    pub element: usize,
    pub reason: String,
}

/// M of every element, (m,): time² / length²; [`BLOCKED`] where the speed is 0. Computed in parallel, the same bits for every number
/// of threads.
///
/// With orthonormal axes M = Σ vᵢ⁻² eᵢ eᵢᵀ. Directions are made unit vectors in f64, the sheet orthogonal to the fibre; the normal is
/// fibre × sheet. Where two speeds across the fibre are equal, no sheet is asked for; a triangle without a sheet has it in
/// its own plane.
///
/// # Errors
/// The first element with a direction of no length, a speed that is not positive, or a tensor that is not positive definite.
pub fn metrics(mesh: &EikonalMeshView, classes: &[VelocityClass]) -> Result<Vec<Symmetric>, MetricError> {
    let constant: Vec<Option<Result<Symmetric, String>>> =
        classes.iter().map(|class| same_everywhere(&class.velocity)).collect();
    let of = |element: usize| {
        let class = usize::from(mesh.class[element]);
        let wrong = |reason: String| MetricError { element, reason };
        match constant.get(class) {
            Some(Some(found)) => found.clone().map_err(wrong),
            Some(None) => of_element(mesh, &classes[class].velocity, element).map_err(wrong),
            None => Err(wrong(format!("velocity class {class} does not exist"))),
        }
    };
    let first_wrong = AtomicUsize::new(usize::MAX);
    let of_each = |element: usize| {
        of(element).unwrap_or_else(|_| {
            first_wrong.fetch_min(element, Relaxed);
            BLOCKED
        })
    };
    // Not a result of vectors, which threads make piece by piece and one of them joins.
    let all = (0..mesh.n_elements()).into_par_iter().map(of_each).collect();
    match first_wrong.into_inner() {
        usize::MAX => Ok(all),
        element => of(element).map(|_| all),
    }
}

/// M where it is one for the whole class and needs nothing of the elements.
fn same_everywhere(velocity: &Velocity) -> Option<Result<Symmetric, String>> {
    match velocity {
        Velocity::Blocked => Some(Ok(BLOCKED)),
        Velocity::Isotropic(speed) => Some(isotropic(*speed)),
        Velocity::Tensor(tensor) => Some(inverse(*tensor)),
        _ => None,
    }
}

fn of_element(mesh: &EikonalMeshView, velocity: &Velocity, element: usize) -> Result<Symmetric, String> {
    match velocity {
        Velocity::Blocked | Velocity::Isotropic(_) | Velocity::Tensor(_) => {
            same_everywhere(velocity).unwrap_or(Ok(BLOCKED))
        }
        Velocity::Axes { speeds, directions } => axes(mesh, element, *speeds, directions),
        Velocity::EachSpeeds { factor, directions } => {
            let n = mesh.velocities.len() / mesh.n_elements().max(1);
            let own = mesh.velocities.get(n * element..n * (element + 1)).unwrap_or_default();
            match *own {
                [speed] => isotropic(factor * speed),
                [fibre, sheet, normal] => axes(mesh, element, [fibre, sheet, normal].map(|v| factor * v), directions),
                _ => Err("there is no velocity for it".into()),
            }
        }
        Velocity::EachTensor { factor } => {
            let own = mesh.tensor.get(6 * element..6 * (element + 1)).ok_or("there is no tensor for it")?;
            let mut tensor = [0.0; 6];
            tensor.copy_from_slice(own);
            inverse(tensor.map(|value| factor * factor * value))
        }
    }
}

fn isotropic(speed: f64) -> Result<Symmetric, String> {
    match speed {
        0.0 => Ok(BLOCKED),
        speed if speed > 0.0 && speed.is_finite() => {
            let slow = 1.0 / (speed * speed);
            finite([slow, slow, slow, 0.0, 0.0, 0.0])
        }
        speed => Err(format!("its speed is {speed}: a positive number is needed, or 0 for a block")),
    }
}

fn axes(
    mesh: &EikonalMeshView,
    element: usize,
    speeds: [f64; 3],
    directions: &Directions,
) -> Result<Symmetric, String> {
    if speeds == [0.0; 3] {
        return Ok(BLOCKED);
    }
    if let Some(speed) = speeds.iter().find(|speed| !(**speed > 0.0 && speed.is_finite())) {
        return Err(format!(
            "its speeds are {speeds:?}, and {speed} is not positive: the tensor would not be positive definite; 0 along \
             all three blocks"
        ));
    }
    if speeds[0] == speeds[1] && speeds[1] == speeds[2] {
        return isotropic(speeds[0]);
    }
    let [along, across, normal_to] = speeds.map(|speed| 1.0 / (speed * speed));
    let fibre = fibre(mesh, element, directions)?;
    if across == normal_to {
        let rest = along - across;
        let outer = outer(fibre).map(|value| rest * value);
        return finite([0, 1, 2, 3, 4, 5].map(|k| if k < 3 { across + outer[k] } else { outer[k] }));
    }
    let sheet = sheet(mesh, element, directions, fibre)?;
    let normal = cross(fibre, sheet);
    let parts = [outer(fibre), outer(sheet), outer(normal)];
    finite(std::array::from_fn(|k| along * parts[0][k] + across * parts[1][k] + normal_to * parts[2][k]))
}

fn each(array: &[f32], element: usize) -> Option<[f64; 3]> {
    let own = array.get(3 * element..3 * (element + 1))?;
    Some([0, 1, 2].map(|k| f64::from(own[k])))
}

/// Unit vector along the fibre.
fn fibre(mesh: &EikonalMeshView, element: usize, directions: &Directions) -> Result<[f64; 3], String> {
    let fibre = match directions {
        Directions::Each => each(mesh.fibre, element),
        Directions::Constant { fibre, .. } => Some(*fibre),
    };
    let fibre = fibre.ok_or("no fibre direction is given for it")?;
    unit(fibre).ok_or_else(|| format!("its fibre direction {fibre:?} has no length"))
}

/// Unit vector in the sheet, orthogonal to the fibre.
fn sheet(mesh: &EikonalMeshView, element: usize, directions: &Directions, fibre: [f64; 3]) -> Result<[f64; 3], String> {
    let sheet = match directions {
        Directions::Each => each(mesh.sheet, element),
        Directions::Constant { sheet, .. } => *sheet,
    };
    // A triangle has its sheet in its own plane where none is given.
    let given = match sheet.filter(|sheet| *sheet != [0.0; 3]) {
        Some(sheet) => sheet,
        None if mesh.corners == 3 => cross(normal(mesh, element), fibre),
        None => return Err("no sheet direction is given for it, and its speeds across the fibre differ".into()),
    };
    let along_fibre = dot(given, fibre);
    let rest = [0, 1, 2].map(|k| given[k] - along_fibre * fibre[k]);
    let length = dot(given, given).sqrt();
    let sheet = unit(rest).filter(|_| dot(rest, rest).sqrt() > 1e-6 * length);
    sheet.ok_or_else(|| format!("its sheet direction {given:?} is parallel to its fibre"))
}

/// Numbers so large that M overflows mean nothing.
fn finite(metric: Symmetric) -> Result<Symmetric, String> {
    if metric.iter().all(|value| value.is_finite()) && metric[0] > 0.0 {
        Ok(metric)
    } else {
        Err("its speed is too large or too small to compute with".into())
    }
}

/// D⁻¹ of a positive definite D; [`BLOCKED`] for D = 0.
fn inverse(d: Symmetric) -> Result<Symmetric, String> {
    if d == [0.0; 6] {
        return Ok(BLOCKED);
    }
    let [xx, yy, zz, xy, yz, zx] = d;
    // The adjugate, and Sylvester's criterion.
    let adjugate = [
        yy * zz - yz * yz,
        xx * zz - zx * zx,
        xx * yy - xy * xy,
        zx * yz - xy * zz,
        xy * zx - xx * yz,
        xy * yz - zx * yy,
    ];
    let determinant = xx * adjugate[0] + xy * adjugate[3] + zx * adjugate[5];
    if !(xx > 0.0 && adjugate[2] > 0.0 && determinant > 0.0 && determinant.is_finite()) {
        return Err(format!("its tensor {d:?} (xx, yy, zz, xy, yz, zx) is not positive definite; six zeros block"));
    }
    finite(adjugate.map(|value| value / determinant))
}

/// Normal of a triangle, of any length.
fn normal(mesh: &EikonalMeshView, element: usize) -> [f64; 3] {
    let nodes = mesh.nodes(element);
    let [a, b, c] = [0, 1, 2].map(|k| mesh.point(nodes[k] as usize));
    let along = |to: [f64; 3]| [0, 1, 2].map(|k| to[k] - a[k]);
    cross(along(b), along(c))
}

fn unit(a: [f64; 3]) -> Option<[f64; 3]> {
    let length = dot(a, a).sqrt();
    (length.is_normal()).then(|| a.map(|x| x / length))
}

/// a aᵀ.
fn outer(a: [f64; 3]) -> Symmetric {
    [a[0] * a[0], a[1] * a[1], a[2] * a[2], a[0] * a[1], a[1] * a[2], a[2] * a[0]]
}

/// How √(dᵀ M d) of an element changes with its velocity; NaN where there is no such speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Per relative change of all its speeds: −√(dᵀ M d).
    pub relative: f64,
    /// By the speed along fibre, sheet and normal. Of an isotropic element the first is by its speed. Where no sheet is known
    /// the second is by the speed across the fibre, sheet and normal together.
    pub speeds: [f64; 3],
    /// By the components of D: xx, yy, zz, xy, yz, zx.
    pub tensor: [f64; 6],
}

/// [`Rates`] for the way `d` through an element with the metric M, divided by √(dᵀ M d) / `time`: in a mean of several metrics
/// `time` is the root of the mean.
pub fn rates(
    mesh: &EikonalMeshView,
    classes: &[VelocityClass],
    element: usize,
    metric: &Symmetric,
    (d, time): ([f64; 3], f64),
) -> Rates {
    let [xx, yy, zz, xy, yz, zx] = *metric;
    let p = [xx * d[0] + xy * d[1] + zx * d[2], xy * d[0] + yy * d[1] + yz * d[2], zx * d[0] + yz * d[1] + zz * d[2]];
    let relative = if time > 0.0 { -dot(p, d) / time } else { 0.0 };
    // dM = −M dD M.
    let half = if time > 0.0 { -0.5 / time } else { 0.0 };
    let tensor = [
        half * p[0] * p[0],
        half * p[1] * p[1],
        half * p[2] * p[2],
        2.0 * half * p[0] * p[1],
        2.0 * half * p[1] * p[2],
        2.0 * half * p[2] * p[0],
    ];
    let mut found = Rates { relative, speeds: [f64::NAN; 3], tensor };
    let velocity = classes.get(usize::from(mesh.class[element])).map(|class| &class.velocity);
    let (speeds, directions) = match velocity {
        Some(Velocity::Isotropic(speed)) => {
            found.speeds[0] = relative / speed;
            return found;
        }
        Some(Velocity::Axes { speeds, directions }) => (*speeds, directions),
        Some(Velocity::EachSpeeds { factor, directions }) => {
            let n = mesh.velocities.len() / mesh.n_elements().max(1);
            match mesh.velocities.get(n * element..n * (element + 1)).unwrap_or_default() {
                [speed] => {
                    found.speeds[0] = relative / (factor * speed);
                    return found;
                }
                [fibre, sheet, normal] => ([fibre, sheet, normal].map(|v| factor * v), directions),
                _ => return found,
            }
        }
        _ => return found,
    };
    // d√(dᵀ M d)/dv = −(e·d)²/(v³ √).
    let Ok(fibre) = fibre(mesh, element, directions) else { return found };
    let of = |square: f64, speed: f64| if time > 0.0 { -square / (speed.powi(3) * time) } else { 0.0 };
    let along = dot(fibre, d).powi(2);
    found.speeds[0] = of(along, speeds[0]);
    match sheet(mesh, element, directions, fibre) {
        Ok(sheet) => {
            found.speeds[1] = of(dot(sheet, d).powi(2), speeds[1]);
            found.speeds[2] = of(dot(cross(fibre, sheet), d).powi(2), speeds[2]);
        }
        Err(_) => found.speeds[1] = of((dot(d, d) - along).max(0.0), speeds[1]),
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eikonal::EikonalMesh;

    fn mesh(corners: u32) -> EikonalMesh {
        EikonalMesh {
            corners,
            coordinates: vec![0., 0., 0., 1., 0., 0., 0., 1., 0., 0., 0., 1.],
            elements: (0..corners).collect(),
            original_node: vec![0, 1, 2, 3],
            original_element: vec![0],
            class: vec![0],
            ..Default::default()
        }
    }

    fn one(mesh: &EikonalMesh, velocity: Velocity) -> Result<Symmetric, String> {
        let classes = [VelocityClass { name: "A".into(), velocity }];
        metrics(&mesh.view(), &classes).map(|all| all[0]).map_err(|error| error.to_string())
    }

    fn close(a: Symmetric, b: Symmetric) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} {b}");
        }
    }

    #[test]
    fn the_first_element_is_named_whatever_the_threads_do() {
        let mut mesh = mesh(4);
        let n = 20_000;
        (mesh.elements, mesh.original_element) = (mesh.elements.repeat(n), (0..n as u32).collect());
        mesh.class = (0..n).map(|element| u8::from(element >= 7).into()).collect();
        let class = |speed| VelocityClass { name: "A".into(), velocity: Velocity::Isotropic(speed) };
        for _ in 0..50 {
            assert_eq!(metrics(&mesh.view(), &[class(1.0), class(-1.0)]).unwrap_err().element, 7);
        }
    }

    #[test]
    fn axes_and_the_tensor_that_they_make_agree() {
        let mesh = mesh(4);
        let (fibre, sheet) = ([1.0, 2.0, -0.5], [0.3, 1.0, 1.0]);
        let f = unit(fibre).unwrap();
        let s = unit([0, 1, 2].map(|k| sheet[k] - dot(sheet, f) * f[k])).unwrap();
        let n = cross(f, s);
        let speeds = [0.6, 0.4, 0.2];
        let d: Symmetric =
            std::array::from_fn(|k| [f, s, n].iter().zip(speeds).map(|(&axis, v)| v * v * outer(axis)[k]).sum());
        let directions = Directions::Constant { fibre, sheet: Some(sheet) };
        close(one(&mesh, Velocity::Axes { speeds, directions }).unwrap(), one(&mesh, Velocity::Tensor(d)).unwrap());
        // Without a difference across the fibre no sheet is needed.
        let two = Velocity::Axes { speeds: [0.6, 0.3, 0.3], directions: Directions::Constant { fibre, sheet: None } };
        let with = Directions::Constant { fibre, sheet: Some(sheet) };
        close(
            one(&mesh, two).unwrap(),
            one(&mesh, Velocity::Axes { speeds: [0.6, 0.3, 0.3 + 1e-13], directions: with }).unwrap(),
        );
        assert_eq!(one(&mesh, Velocity::Isotropic(0.5)).unwrap(), [4., 4., 4., 0., 0., 0.]);
    }

    #[test]
    fn rates_are_the_differences_of_the_time() {
        let mesh = mesh(4);
        let way = [0.4, -0.3, 0.7];
        let time = |velocity: Velocity| {
            let m = one(&mesh, velocity).unwrap();
            let [xx, yy, zz, xy, yz, zx] = m;
            let p = [
                xx * way[0] + xy * way[1] + zx * way[2],
                xy * way[0] + yy * way[1] + yz * way[2],
                zx * way[0] + yz * way[1] + zz * way[2],
            ];
            (dot(p, way).sqrt(), m)
        };
        let found = |velocity: Velocity| {
            let (t, m) = time(velocity.clone());
            rates(&mesh.view(), &[VelocityClass { name: "A".into(), velocity }], 0, &m, (way, t))
        };
        let directions = Directions::Constant { fibre: [1., 2., 0.5], sheet: Some([0., 1., 1.]) };
        let axes = |speeds| Velocity::Axes { speeds, directions };
        let (speeds, h) = ([0.6, 0.4, 0.2], 1e-5);
        let all = found(axes(speeds));
        for k in 0..3 {
            let moved = |by: f64| time(axes(std::array::from_fn(|i| speeds[i] + if i == k { by } else { 0.0 }))).0;
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            assert!((all.speeds[k] / difference - 1.0).abs() < 1e-7, "{k} {} {difference}", all.speeds[k]);
        }
        let sum: f64 = (0..3).map(|k| all.speeds[k] * speeds[k]).sum();
        assert!((sum - all.relative).abs() < 1e-12 && (all.relative + time(axes(speeds)).0).abs() < 1e-12);
        let tensor = [0.4, 0.3, 0.2, 0.05, -0.02, 0.03];
        let by_tensor = found(Velocity::Tensor(tensor)).tensor;
        for (k, by_component) in by_tensor.into_iter().enumerate() {
            let moved =
                |by: f64| time(Velocity::Tensor(std::array::from_fn(|i| tensor[i] + if i == k { by } else { 0.0 }))).0;
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            assert!((by_component / difference - 1.0).abs() < 1e-6, "{k} {by_component} {difference}");
        }
        // Without a sheet the second is across the fibre.
        let no_sheet = Directions::Constant { fibre: [1., 2., 0.5], sheet: None };
        let across = |v: f64| Velocity::Axes { speeds: [0.6, v, v], directions: no_sheet };
        let difference = (time(across(0.3 + h)).0 - time(across(0.3 - h)).0) / (2.0 * h);
        let two = found(across(0.3)).speeds;
        assert!((two[1] / difference - 1.0).abs() < 1e-7 && two[2].is_nan());
        assert!((found(Velocity::Isotropic(0.5)).speeds[0] + time(Velocity::Isotropic(0.5)).0 / 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_triangle_has_its_sheet_in_its_plane() {
        let mesh = mesh(3);
        let directions = Directions::Constant { fibre: [1., 0., 0.], sheet: None };
        close(one(&mesh, Velocity::Axes { speeds: [2., 1., 0.5], directions }).unwrap(), [0.25, 1., 4., 0., 0., 0.]);
    }

    #[test]
    fn zero_blocks_and_nonsense_is_named() {
        let mut mesh = mesh(4);
        assert_eq!(one(&mesh, Velocity::Isotropic(0.0)).unwrap(), BLOCKED);
        assert_eq!(one(&mesh, Velocity::Blocked).unwrap(), BLOCKED);
        mesh.velocities = vec![0.0];
        assert_eq!(one(&mesh, Velocity::EachSpeeds { factor: 2.0, directions: Directions::Each }).unwrap(), BLOCKED);
        mesh.tensor = vec![1., 1., 1., 0., 0., 0.];
        close(one(&mesh, Velocity::EachTensor { factor: 2.0 }).unwrap(), [0.25, 0.25, 0.25, 0., 0., 0.]);
        let each = |speeds| Velocity::Axes { speeds, directions: Directions::Each };
        for (velocity, expected) in [
            (Velocity::Isotropic(-1.0), "speed is -1"),
            (each([1., 0.5, 0.]), "0 is not positive"),
            (each([1., 0.5, 0.5]), "no fibre direction"),
            (Velocity::Tensor([1., 1., 1., 2., 0., 0.]), "not positive definite"),
            (Velocity::Tensor([f64::NAN; 6]), "not positive definite"),
            (Velocity::Isotropic(1e-200), "too large or too small"),
        ] {
            let error = one(&mesh, velocity).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        mesh.fibre = vec![0.0; 3];
        assert!(one(&mesh, each([1., 0.5, 0.5])).unwrap_err().contains("no length"));
        mesh.fibre = vec![1.0, 0.0, 0.0];
        assert!(one(&mesh, each([1., 0.5, 0.4])).unwrap_err().contains("no sheet direction"));
        mesh.sheet = vec![2.0, 0.0, 0.0];
        assert!(one(&mesh, each([1., 0.5, 0.4])).unwrap_err().contains("parallel"));
    }
}
