use std::sync::Mutex;

use pogo_formats::voxel::{Bricks, BricksView, bricks_of};

use super::super::multigrid::{factors, weight};
use super::super::solve::largest_bound;
use super::super::tests::random;
use super::super::{Cube, FixedDof, Lame, Moduli, NodalForce, Product, Ratios, Scratch, StaticProblem};
use super::layout::Plane;
use super::product::FineLevel;
use super::remote::Parts;
use super::tiles::{Shares, Tiles, WARPS, longest, ring};
use crate::device::{Buffer, Devices, Plain, Slice, n_devices};
use crate::simd::Real;

/// Smooth noise: the mean of random numbers at points a few voxels apart, larger than a level.
fn noise(at: [u32; 3], cell: u32, level: f64) -> bool {
    let corner = at.map(|x| x / cell);
    let weight = at.map(|x| f64::from(x % cell) / f64::from(cell));
    let value: f64 = (0..8)
        .map(|c: u32| {
            let d = [c & 1, c >> 1 & 1, c >> 2];
            let w: f64 = (0..3).map(|a| if d[a] == 1 { weight[a] } else { 1.0 - weight[a] }).product();
            let key = (0..3).fold(0, |key, a| 1000 * key + u64::from(corner[a] + d[a]));
            w * random(key)
        })
        .sum();
    value > level
}

/// Samples: solid, noise thick and thin, single voxels, a hollow one, empty planes between.
fn samples() -> Vec<(&'static str, Bricks)> {
    vec![
        ("cube", bricks_of([37, 31, 18], |_| true)),
        ("noise", bricks_of([70, 45, 90], |at| noise(at, 7, 0.55))),
        (
            "struts",
            bricks_of([64, 64, 48], |[x, y, z]| {
                [x % 11 < 2, y % 13 < 3, z % 9 < 2].map(u8::from).iter().sum::<u8>() >= 2
            }),
        ),
        ("dust", bricks_of([40, 50, 33], |[x, y, z]| random(u64::from(x + 1000 * (y + 1000 * z))) < 0.1)),
        (
            "far",
            bricks_of([33, 33, 300], |[x, y, z]| {
                (!(3..=280).contains(&z) || (100..120).contains(&z)) && (x + y) % 7 != 0
            }),
        ),
    ]
}

/// Every eleventh node has something fixed.
fn fixed(view: &BricksView) -> Vec<u32> {
    (0..view.n_nodes() as u32).step_by(11).map(|node| 3 * node + node % 3).collect()
}

/// K x on the CPU.
fn expected<T: Real>(product: &Product, x: &[T]) -> Vec<T> {
    let y = Mutex::new(vec![T::default(); x.len()]);
    product.apply(x, &mut Scratch::default(), &|first, part| {
        y.lock().unwrap()[3 * first..3 * first + part.len()].copy_from_slice(part);
        0.0
    });
    y.into_inner().unwrap()
}

/// Number of the node at (x, y) of 17 × 17, if it is there and the tile knows it.
fn node(plane: &Plane, halo: &[u32], x: usize, y: usize) -> Option<(u32, bool)> {
    let rank = |mask: u32, bit: usize| (mask >> bit & 1 == 1).then(|| (mask & ((1 << bit) - 1)).count_ones());
    if (1..16).contains(&x) && (1..16).contains(&y) {
        let word = plane.word[y / 4 * 2 + x / 8];
        return rank(word.nodes, y % 4 * 8 + x % 8).map(|rank| (word.node_at + rank, true));
    }
    let h = (0..64).find(|&h| ring(h) == (x, y)).unwrap();
    let before = if h < 32 { 0 } else { plane.halo[0].count_ones() };
    let at = plane.halo_at + before + rank(plane.halo[h / 32], h % 32)?;
    Some((halo[at as usize], false))
}

/// The product as the tables say, plainly.
fn by_tiles(tiles: &Tiles, cube: &Cube, moduli: &[f64], x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    for stretch in &tiles.cut(longest(false)[0], &tiles.shares(1)) {
        let (first, end) = (stretch.at as usize, (stretch.at + stretch.n) as usize);
        for k in first - 1..end {
            for warp in 0..WARPS {
                let word = tiles.planes[k].word[warp];
                let bits = (0..32).filter(|bit| word.elements >> bit & 1 == 1);
                for (rank, bit) in bits.enumerate() {
                    let column = [warp % 2 * 8 + bit % 8, warp / 2 * 4 + bit / 8];
                    let e = moduli[(word.element_at & !(1 << 31)) as usize + rank];
                    let nodes: [(u32, bool); 8] = std::array::from_fn(|c| {
                        let plane = &tiles.planes[k + (c >> 2)];
                        node(plane, &tiles.halo, column[0] + (c & 1), column[1] + (c >> 1 & 1)).expect("a node")
                    });
                    for (c, &(to, own)) in nodes.iter().enumerate() {
                        if own && (first..end).contains(&(k + (c >> 2))) {
                            for a in 0..3 {
                                let row = &cube.dense[3 * c + a];
                                let sum: f64 = (0..24).map(|i| row[i] * x[3 * nodes[i / 3].0 as usize + i % 3]).sum();
                                y[3 * to as usize + a] += e * sum;
                            }
                        }
                    }
                }
            }
        }
    }
    for plane in tiles.planes.iter().filter(|plane| plane.fixed > 0) {
        for (warp, bits) in tiles.fixed[plane.fixed as usize - 1].iter().enumerate() {
            for (a, bits) in bits.iter().enumerate() {
                for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
                    let (x, y_) = (warp % 2 * 8 + bit % 8, warp / 2 * 4 + bit / 8);
                    y[3 * node(plane, &[], x, y_).expect("a node").0 as usize + a] = 0.0;
                }
            }
        }
    }
    y
}

#[test]
fn tiles_name_every_node_and_element() {
    for (name, bricks) in samples() {
        let view = bricks.view();
        let fixed = fixed(&view);
        let modulus: Vec<f32> = (0..view.n_elements()).map(|e| 1.0 + random(e as u64) as f32).collect();
        let moduli = Moduli::Each { modulus: &modulus, scale: 2.0 };
        let ratios = Ratios::One(0.3);
        let problem = StaticProblem { bricks: view, moduli, ratios, spacing: 0.5, fixed: &[], forces: &[] };
        let product = Product::new(&problem, fixed.clone());
        let x: Vec<f64> = (0..3 * view.n_nodes()).map(|i| random(i as u64 + 7) - 0.5).collect();
        let expected = expected(&product, &x);
        let tiles = Tiles::new(&view, &fixed);
        let mut seen = vec![false; view.n_nodes()];
        tiles.order.iter().for_each(|&node| assert!(!std::mem::replace(&mut seen[node as usize], true)));
        let mut moved = vec![0.0; x.len()];
        for (i, &to) in tiles.order.iter().enumerate() {
            moved[3 * to as usize..3 * to as usize + 3].copy_from_slice(&x[3 * i..3 * i + 3]);
        }
        let each: Vec<f64> = tiles.of_elements(&view, &modulus).iter().map(|&m| f64::from(m)).collect();
        let y = by_tiles(&tiles, &product.cubes()[0], &each, &moved);
        let scale = expected.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
        for (i, &at) in tiles.order.iter().enumerate() {
            for a in 0..3 {
                let (y, expected) = (y[3 * at as usize + a], expected[3 * i + a]);
                assert!((y - expected).abs() < 1e-13 * scale, "{name}, node {i}: {y} {expected}");
            }
        }
    }
}

#[test]
fn the_shares_of_devices_cover_all_once() {
    let mut most = 0.0_f64;
    for (name, bricks) in samples() {
        let view = bricks.view();
        let tiles = Tiles::new(&view, &fixed(&view));
        for n_devices in 1..=4 {
            let shares = tiles.shares(n_devices);
            let ranges = |range: fn(&Shares, usize) -> std::ops::Range<usize>, n: usize| {
                let all: Vec<_> = (0..n_devices).map(|device| range(&shares, device)).collect();
                assert!(all[0].start == 0 && all[n_devices - 1].end == n, "{name}: {all:?}");
                assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start), "{name}: {all:?}");
                all
            };
            let nodes = ranges(Shares::nodes, view.n_nodes());
            assert!(nodes.iter().all(|nodes| nodes.start.is_multiple_of(4)), "{name}: {nodes:?}");
            let planes = ranges(Shares::planes, tiles.planes.len());
            // The nodes of the planes, those of each in its tiles.
            let of_planes: Vec<_> = planes.iter().map(|planes| tiles.nodes_of(planes.clone())).collect();
            assert!(of_planes.windows(2).all(|pair| pair[0].0.end == pair[1].0.start));
            assert!(of_planes[0].0.start == 0 && of_planes[n_devices - 1].0.end == view.n_nodes() as u32);
            for (node, at) in (0..view.n_bricks()).flat_map(|brick| view.node_positions(brick)).enumerate() {
                let tile = at[1] as usize / 15 * tiles.n_tiles[0] + at[0] as usize / 15;
                let owner = of_planes.iter().position(|(nodes, _)| nodes.contains(&tiles.order[node])).unwrap();
                let [first, last] = of_planes[owner].1;
                assert!((first..=last).contains(&(tile as u32)), "{name}: {at:?}");
            }
            let all = tiles.cut(longest(false)[0], &shares);
            let parts: Vec<_> = (0..n_devices).map(|device| shares.stretches(device, &all)).collect();
            let mut at: Vec<u32> = parts.iter().flatten().map(|stretch| stretch.at).collect();
            let mut expected: Vec<u32> = all.iter().map(|stretch| stretch.at).collect();
            at.sort_unstable();
            expected.sort_unstable();
            assert_eq!(at, expected, "{name}");
            let largest = nodes.iter().map(|nodes| nodes.len()).max().unwrap();
            most = most.max((largest * n_devices) as f64 / view.n_nodes() as f64);
        }
    }
    eprintln!("a device has up to {most:.2} times the mean number of nodes");
}

/// The device's side of a problem.
struct Device {
    level: FineLevel,
    /// What the smoother takes for the largest eigenvalue of D⁻¹ K.
    lambda: f64,
    n: usize,
    on: Devices,
}

impl Device {
    /// On the first device alone, and on the first two where there are two.
    fn all(problem: &StaticProblem) -> Vec<Self> {
        let mut all = vec![Self::new(problem, &[0])];
        if n_devices().unwrap() > 1 {
            all.push(Self::new(problem, &[0, 1]));
        }
        all
    }

    fn new(problem: &StaticProblem, ordinals: &[u32]) -> Self {
        let on = Devices::open(ordinals).unwrap();
        let lambda = largest_bound(problem.ratios).max(2.3);
        let level = FineLevel::new(&on, problem, lambda, Parts::of_devices(on.len())).unwrap();
        Self { level, lambda, n: 3 * problem.bricks.n_nodes(), on }
    }

    /// A vector in the device's order.
    fn put<T: Plain + Default>(&self, v: &[T]) -> Buffer<T> {
        let mut moved = vec![T::default(); self.n];
        for (i, &to) in self.level.order.iter().enumerate() {
            moved[3 * to as usize..3 * to as usize + 3].copy_from_slice(&v[3 * i..3 * i + 3]);
        }
        Buffer::of(&moved).unwrap()
    }

    fn get<T: Plain + Default>(&self, v: &Slice<T>) -> Vec<T> {
        self.synchronize();
        let mut all = vec![T::default(); self.n];
        v.read(&mut all).unwrap();
        self.level.order.iter().flat_map(|&at| all[3 * at as usize..3 * at as usize + 3].to_vec()).collect()
    }

    fn sum(&self) -> f64 {
        self.synchronize();
        let mut sum = [0.0];
        self.level.sum.read(&mut sum).unwrap();
        sum[0]
    }

    fn synchronize(&self) {
        self.on.synchronize().unwrap();
    }
}

/// Largest difference over the largest value.
fn worst(a: &[impl Real], b: &[f64]) -> f64 {
    let scale = b.iter().fold(0.0_f64, |most, b| most.max(b.abs()));
    a.iter().zip(b).fold(0.0, |most: f64, (a, b)| {
        let error = (a.to_f64() - b).abs() / scale;
        if error <= most { most } else { error }
    })
}

/// Problems of every kind of modulus and of several ratios on every sample, on one device and on two.
fn for_problems(mut run: impl FnMut(&str, &StaticProblem, &[u32], Device)) {
    for (name, bricks) in samples() {
        let view = bricks.view();
        let fixed = fixed(&view);
        let dofs: Vec<FixedDof> =
            fixed.iter().map(|dof| FixedDof { node: dof / 3, direction: (dof % 3) as u8, value: 0.0 }).collect();
        let n = view.n_elements();
        let (same, young) = (vec![1_u8; n], [5.0, 3.0, 11.0]);
        let class: Vec<u8> = (0..n).map(|e| (random(e as u64) * 3.0) as u8).collect();
        let modulus: Vec<f32> = (0..n).map(|e| 1.0 + random(e as u64) as f32).collect();
        let [wide, negative] = [[0.0, 0.45, 0.3], [0.3, -0.3, 0.1]].map(|ratios| ratios.map(Lame::new));
        let (one, classes) = (Ratios::One(0.3), Moduli::Classes { class: &class, young: &young });
        for (kind, moduli, ratios) in [
            ("one", Moduli::Classes { class: &same, young: &young }, one),
            ("classes", classes, one),
            ("each", Moduli::Each { modulus: &modulus, scale: 3.0 }, one),
            ("ratios up to 0.45", classes, Ratios::Classes(&wide)),
            ("a negative ratio", classes, Ratios::Classes(&negative)),
            ("one class", Moduli::Classes { class: &same, young: &young }, Ratios::Classes(&wide)),
        ] {
            let problem = StaticProblem { bricks: view, moduli, ratios, spacing: 0.5, fixed: &dofs, forces: &[] };
            for device in Device::all(&problem) {
                run(&format!("{name}, {kind}, {} devices", device.on.len()), &problem, &fixed, device);
            }
        }
    }
}

fn reference<'a>(problem: &StaticProblem<'a>, fixed: &[u32]) -> Product<'a> {
    Product::new(problem, fixed.to_vec())
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn products_on_the_device_are_those_on_the_cpu() {
    for_problems(|name, problem, fixed, mut device| {
        let product = reference(problem, fixed);
        let x: Vec<f64> = (0..device.n).map(|i| random(i as u64 + 7) - 0.5).collect();
        let expected = expected(&product, &x);
        let energy: f64 = x.iter().zip(&expected).map(|(x, y)| x * y).sum();
        // Double, with forces and without.
        let (from, to) = (device.put(&x), device.put(&vec![f64::NAN; device.n]));
        device.level.apply_f64(&device.on, &from, &to, true).unwrap();
        let y = device.get(&to);
        let error = worst(&y, &expected);
        let sum = device.sum();
        assert!(error < 1e-14 && (sum - energy).abs() < 1e-12 * energy, "{name}: {error} {sum} {energy}");
        device.level.apply_f64(&device.on, &from, &to, true).unwrap();
        assert_eq!(y, device.get(&to), "{name}: the same bits");
        let forces: Vec<NodalForce> = (0..problem.bricks.n_nodes() as u32)
            .step_by(7)
            .map(|node| NodalForce { node, direction: (node / 2 % 3) as u8, value: 1.0 + f64::from(node % 5) })
            .collect();
        device.level.set_forces(&device.on, &forces, problem.fixed).unwrap();
        let mut residual: Vec<f64> = expected.iter().map(|y| -y).collect();
        for force in &forces {
            let dof = 3 * force.node + u32::from(force.direction);
            if fixed.binary_search(&dof).is_err() {
                residual[dof as usize] += force.value;
            }
        }
        let r = device.put(&vec![f32::NAN; device.n]);
        device.level.true_residual(&device.on, &from, &r).unwrap();
        let error = worst(&device.get(&r), &residual);
        let (square, sum) = (residual.iter().map(|r| r * r).sum::<f64>(), device.sum());
        assert!(error < 1e-7 && (sum - square).abs() < 1e-12 * square, "{name}: {error} {sum} {square}");
        // Single.
        let single: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let (from, to) = (device.put(&single), device.put(&vec![f32::NAN; device.n]));
        device.level.apply(&device.on, &from, &to, true).unwrap();
        let y = device.get(&to);
        let error = worst(&y, &expected);
        let sum = device.sum();
        assert!(error < 1e-6 && (sum - energy).abs() < 1e-5 * energy, "{name}: {error} {sum} {energy}");
        let b: Vec<f32> = (0..device.n).map(|i| random(i as u64 + 11) as f32).collect();
        let expected: f64 = b.iter().zip(&expected).map(|(&b, y)| f64::from(b) * y).sum();
        let b = device.put(&b);
        device.level.dot(&device.on, &b, &from).unwrap();
        let sum = device.sum();
        assert!((sum - expected).abs() < 1e-5 * energy, "{name}: {sum} {expected}");
        device.level.apply(&device.on, &from, &to, true).unwrap();
        assert_eq!(y, device.get(&to), "{name}: the same bits");
    });
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn smoothing_on_the_device_is_chebyshev() {
    for_problems(|name, problem, fixed, device| {
        let product = reference(problem, fixed);
        let on = &device.on;
        let inverse = device.level.read_inverse().unwrap();
        let free = |i: usize| fixed.binary_search(&(i as u32)).is_err();
        let random = |seed: u64| -> Vec<f32> {
            (0..device.n).map(|i| if free(i) { random(i as u64 + seed) as f32 - 0.5 } else { 0.0 }).collect()
        };
        let (b, e) = (random(7), random(1 << 20));
        let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        for degree in 1..=3 {
            // Before: z from 0.
            let (mut z, mut r) = (vec![0.0; device.n], wide(&b));
            smooth(&product, (&inverse, device.lambda), degree, &mut r, &mut z);
            let y = expected(&product, &z);
            let r: Vec<f64> = b.iter().zip(&y).map(|(&b, y)| f64::from(b) - y).collect();
            let nan = vec![f32::NAN; device.n];
            let [to, residual, d, next] = std::array::from_fn(|_| device.put(&nan));
            let from = device.put(&b);
            let work = Some([&*d, &*next]);
            device.level.smooth(on, degree, [&from, &to, &residual], work, false).unwrap();
            device.level.residual(on, &from, &to, &residual).unwrap();
            let errors = [worst(&device.get(&to), &z), worst(&device.get(&residual), &r)];
            assert!(errors.iter().all(|&error| error < 2e-6), "{name}, {degree} before: {errors:?}");
            // After a correction e.
            let e_product = expected(&product, &wide(&e));
            let mut r: Vec<f64> = r.iter().zip(&e_product).map(|(r, y)| r - y).collect();
            z.iter_mut().zip(&e).for_each(|(z, &e)| *z += f64::from(e));
            let to = device.put(&z.iter().map(|&z| z as f32).collect::<Vec<f32>>());
            smooth(&product, (&inverse, device.lambda), degree, &mut r, &mut z);
            device.level.smooth(on, degree, [&from, &to, &residual], work, true).unwrap();
            let error = worst(&device.get(&to), &z);
            assert!(error < 5e-6, "{name}, {degree} after: {error}");
        }
    });
}

/// Steps on K z = b, r = b − K z.
fn smooth(product: &Product, (inverse, lambda): (&[f32], f64), degree: usize, r: &mut [f64], z: &mut [f64]) {
    let mut d = vec![0.0; z.len()];
    for k in 1..=degree {
        let (p, s) = factors(k);
        for i in 0..z.len() {
            let step = f64::from(s) / lambda * f64::from(inverse[i / 3]) * r[i];
            d[i] = step + if k == 1 { 0.0 } else { f64::from(p) * d[i] };
            z[i] += f64::from(weight(degree, k)) * d[i];
        }
        let y = expected(product, &d);
        r.iter_mut().zip(&y).for_each(|(r, y)| *r -= y);
    }
}

#[test]
#[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
fn the_diagonal_on_the_device_is_that_of_the_elements() {
    for_problems(|name, problem, _, device| {
        let inverse = device.level.read_inverse().unwrap();
        let (voxels, cubes) = (problem.voxels(), problem.voxels().cubes());
        let mut sums = vec![0.0; problem.bricks.n_nodes()];
        for element in 0..problem.bricks.n_elements() {
            let diagonal = |(part, cube): (usize, &Cube)| voxels.stiffness(element, part) * cube.diagonal;
            let diagonal: f64 = cubes.iter().enumerate().map(diagonal).sum();
            for node in problem.bricks.nodes(element as u32).unwrap() {
                sums[node as usize] += diagonal;
            }
        }
        for (inverse, sum) in inverse.iter().zip(&sums) {
            // Eight bits are kept.
            assert!((f64::from(*inverse) * sum - 1.0).abs() < 1.0 / 256.0, "{name}: {inverse} {sum}");
        }
    });
}
