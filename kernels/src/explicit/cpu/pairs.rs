//! Triangles two by two.

/// Pairs triangles that share an edge, as many as a greedy matching finds (Karp and Sipser 1981: first those with one
/// free neighbour left). `connectivity` is (n, 3), positively oriented.
///
/// Returns the pairs, (n_pairs, 4), as (0, 1, 2) and (0, 2, 3), and the triangles left over, (n_single, 3), both in the
/// order of the input: the same for the same input.
pub(crate) fn pair_triangles(connectivity: &[u16]) -> (Vec<u16>, Vec<u16>) {
    let n = connectivity.len() / 3;
    let triangle = |t: usize| [connectivity[3 * t], connectivity[3 * t + 1], connectivity[3 * t + 2]];
    // Edges with the triangle they belong to, those of two neighbours next to each other.
    let mut edges: Vec<(u32, u32)> = Vec::with_capacity(3 * n);
    for t in 0..n {
        let nodes = triangle(t);
        for i in 0..3 {
            let (a, b) = (u32::from(nodes[i]), u32::from(nodes[(i + 1) % 3]));
            edges.push((a.min(b) << 16 | a.max(b), t as u32));
        }
    }
    edges.sort_unstable();
    let mut neighbours = vec![[u32::MAX; 3]; n];
    let mut free = vec![0u8; n];
    for two in edges.windows(2).filter(|two| two[0].0 == two[1].0) {
        for (t, other) in [(two[0].1, two[1].1), (two[1].1, two[0].1)] {
            let slot = &mut free[t as usize];
            if usize::from(*slot) < 3 && t != other {
                neighbours[t as usize][usize::from(*slot)] = other;
                *slot += 1;
            }
        }
    }
    let mut partner = vec![u32::MAX; n];
    let mut lonely: Vec<u32> = (0..n as u32).rev().filter(|&t| free[t as usize] == 1).collect();
    let mut next = 0;
    loop {
        let t = match lonely.pop() {
            Some(t) => t as usize,
            None if next < n => {
                next += 1;
                next - 1
            }
            None => break,
        };
        if partner[t] != u32::MAX {
            continue;
        }
        let candidates = neighbours[t].into_iter().filter(|&other| other != u32::MAX);
        let candidates = candidates.filter(|&other| partner[other as usize] == u32::MAX);
        let Some(other) = candidates.min_by_key(|&other| (free[other as usize], other)) else { continue };
        partner[t] = other;
        partner[other as usize] = t as u32;
        for end in [t, other as usize] {
            for &touched in neighbours[end].iter().filter(|&&touched| touched != u32::MAX) {
                free[touched as usize] = free[touched as usize].saturating_sub(1);
                if free[touched as usize] == 1 && partner[touched as usize] == u32::MAX {
                    lonely.push(touched);
                }
            }
        }
    }
    let (mut pairs, mut single) = (Vec::with_capacity(2 * n), Vec::new());
    for t in 0..n {
        let nodes = triangle(t);
        let other = partner[t];
        if other == u32::MAX {
            single.extend(nodes);
        } else if t < other as usize {
            match join(nodes, triangle(other as usize)) {
                Some(pair) => pairs.extend(pair),
                None => {
                    single.extend(nodes);
                    single.extend(triangle(other as usize));
                }
            }
        }
    }
    (pairs, single)
}

/// (a, b, c, d) of the triangles (a, b, c) and (a, c, d).
fn join(first: [u16; 3], second: [u16; 3]) -> Option<[u16; 4]> {
    for i in 0..3 {
        let [a, b, c] = [first[i], first[(i + 1) % 3], first[(i + 2) % 3]];
        for j in 0..3 {
            let [p, q, d] = [second[j], second[(j + 1) % 3], second[(j + 2) % 3]];
            if p == a && q == c && d != b {
                return Some([a, b, c, d]);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_is_paired_whole_and_keeps_its_triangles() {
        // Fans of quadrilaterals in a row, every one cut by a diagonal.
        let mut connectivity = Vec::new();
        for i in 0..20u16 {
            let [p, q, r, s] = [2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1];
            connectivity.extend([p, q, r, r, s, p]);
        }
        let (pairs, single) = pair_triangles(&connectivity);
        assert_eq!((pairs.len(), single.len()), (80, 0));
        let rotate = |t: [u16; 3]| {
            let least = (0..3).min_by_key(|&i| t[i]).unwrap();
            [t[least], t[(least + 1) % 3], t[(least + 2) % 3]]
        };
        let mut found: Vec<[u16; 3]> =
            pairs.chunks(4).flat_map(|p| [rotate([p[0], p[1], p[2]]), rotate([p[0], p[2], p[3]])]).collect();
        let mut given: Vec<[u16; 3]> = connectivity.chunks(3).map(|t| rotate([t[0], t[1], t[2]])).collect();
        found.sort_unstable();
        given.sort_unstable();
        assert_eq!(found, given);
    }
}
