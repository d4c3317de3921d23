//! The 26 neighbours of a particle in a grid, in the one order that masks, lists and force sums follow.

/// Number of neighbours of a particle inside a grid.
pub const N_DIRECTIONS: usize = 26;

/// Bits of a mask that stand for neighbours; the bits above hold the material.
pub const DIRECTION_BITS: u32 = (1 << N_DIRECTIONS) - 1;

/// The bits of a mask from here on hold the particle's material plus one; 0 means that there is no particle.
pub const MATERIAL_SHIFT: u32 = 26;

/// Materials that a lattice can have.
pub const MAX_MATERIALS: usize = 63;

/// Steps (x, y, z) to the neighbours. Bit d of a mask is set if a spring leads to the neighbour at `DIRECTIONS[d]`.
///
/// Bits 0 to 5 are the axes, 6 to 17 the face diagonals, 18 to 25 the space diagonals (the paper's groups 1, 2 and 3). Even
/// bits lead to higher places in the grid (x fastest); the opposite of bit d is d ^ 1.
pub const DIRECTIONS: [[i32; 3]; N_DIRECTIONS] = [
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [-1, 1, 0],
    [1, -1, 0],
    [1, 0, 1],
    [-1, 0, -1],
    [-1, 0, 1],
    [1, 0, -1],
    [0, 1, 1],
    [0, -1, -1],
    [0, -1, 1],
    [0, 1, -1],
    [1, 1, 1],
    [-1, -1, -1],
    [-1, 1, 1],
    [1, -1, -1],
    [1, -1, 1],
    [-1, 1, -1],
    [-1, -1, 1],
    [1, 1, -1],
];

/// The spring groups of a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum SpringGroupKind {
    /// Along an axis: group 1 of the paper.
    Axis,
    /// Along the diagonal of a face: group 2.
    Face,
    /// Along a diagonal of the cell: group 3.
    Space,
}

impl SpringGroupKind {
    /// All three, in the order of the masks.
    pub const ALL: [Self; 3] = [Self::Axis, Self::Face, Self::Space];

    /// Word in jobs and names of parameters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Axis => "axis",
            Self::Face => "face",
            Self::Space => "space",
        }
    }

    /// The bits of a mask that belong to the group.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Axis => 0x3f,
            Self::Face => 0x3_ffc0,
            Self::Space => DIRECTION_BITS & !0x3_ffff,
        }
    }
}

/// The group of a bit of a mask.
pub const fn group_of_direction(direction: usize) -> SpringGroupKind {
    match direction {
        0..6 => SpringGroupKind::Axis,
        6..18 => SpringGroupKind::Face,
        _ => SpringGroupKind::Space,
    }
}

/// The bit that leads back.
pub const fn opposite(direction: usize) -> usize {
    direction ^ 1
}

/// The material that a mask names; none where there is no particle.
pub const fn material_of(mask: u32) -> Option<u8> {
    ((mask >> MATERIAL_SHIFT) as u8).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_all_neighbours_once_with_opposites_beside_each_other() {
        let mut seen = std::collections::HashSet::new();
        for (d, step) in DIRECTIONS.iter().enumerate() {
            assert!(seen.insert(*step) && step.iter().all(|s| s.abs() <= 1));
            assert_eq!(DIRECTIONS[opposite(d)], step.map(|s| -s));
            assert_eq!(group_of_direction(d) as i32 + 1, step.iter().map(|s| s.abs()).sum::<i32>());
            assert_eq!(group_of_direction(d).bits() >> d & 1, 1);
            let rank = step[0] + 3 * step[1] + 9 * step[2];
            assert_eq!(rank > 0, d % 2 == 0, "direction {d}");
        }
        assert_eq!(SpringGroupKind::ALL.iter().fold(0, |all, group| all ^ group.bits()), DIRECTION_BITS);
        assert_eq!((material_of(5), material_of(3 << MATERIAL_SHIFT | 7)), (None, Some(2)));
    }
}
