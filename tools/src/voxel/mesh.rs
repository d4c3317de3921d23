//! From a dense image of moduli to the elements and nodes of a voxel model.

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::build::{filled, reserve, with_nodes};
use pogo_formats::voxel::{Bricks, VoxelGrid, VoxelMesh, VoxelModuli, morton_code, morton_position};

use super::{CHUNK, VoxelError};
use crate::rows;

/// Most voxels along an axis: node indices have 21 bits.
const LONGEST: usize = (1 << 21) - 1;

/// A voxel with a value for its element.
trait Voxel: Copy + Sync + Send + PartialEq + Default {
    /// Bit x is set if voxel x of eight is solid.
    fn solid(row: &[Self; 8]) -> u8 {
        (0..8).fold(0, |bits, x| bits | u8::from(row[x] != Self::default()) << x)
    }
    /// Value of the element.
    fn value(self) -> Self;
}

impl Voxel for u8 {
    fn solid(row: &[Self; 8]) -> u8 {
        let bytes = u64::from_le_bytes(*row);
        // The top bit of each byte that is not zero, gathered into one byte.
        let top = (((bytes & 0x7f7f_7f7f_7f7f_7f7f) + 0x7f7f_7f7f_7f7f_7f7f) | bytes) & 0x8080_8080_8080_8080;
        ((top >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
    }
    fn value(self) -> Self {
        // Class 0 is void; elements count from 0.
        self - 1
    }
}

impl Voxel for f32 {
    fn value(self) -> Self {
        self
    }
}

/// A dense array of voxels, x fastest.
struct Image<'a, T> {
    size: [usize; 3],
    voxels: &'a [T],
}

impl<T: Voxel> Image<'_, T> {
    /// Voxels 8 i … 8 i + 7 of a line; void beyond the image.
    fn row(&self, i: usize, y: usize, z: usize) -> [T; 8] {
        let [nx, ny, nz] = self.size;
        let mut row = [T::default(); 8];
        if y < ny && z < nz {
            let line = &self.voxels[(z * ny + y) * nx..][..nx];
            let here = &line[(8 * i).min(nx)..(8 * i + 8).min(nx)];
            row[..here.len()].copy_from_slice(here);
        }
        row
    }

    /// Solid voxels of the brick at a position.
    fn mask(&self, position: [u32; 3]) -> [u64; 8] {
        let [i, j, k] = position.map(|p| p as usize);
        let mut mask = [0; 8];
        for z in 0..8 {
            for y in 0..8 {
                let bits = u64::from(T::solid(&self.row(i, 8 * j + y, 8 * k + z)));
                let shift = (y & 1) << 1 | (z & 1) << 2 | (y >> 1 & 1) << 4 | (z >> 1 & 1) << 5;
                let word = (y >> 2) << 1 | (z >> 2) << 2;
                // x₀ is bit 0 and x₁ bit 3 of a word; x₂ chooses the word.
                let spread = |nibble: u64| (nibble & 3) | (nibble & 0xc) << 6;
                mask[word] |= spread(bits & 0xf) << shift;
                mask[word + 1] |= spread(bits >> 4) << shift;
            }
        }
        mask
    }

    /// Codes and masks of all bricks with solid voxels, ascending.
    fn bricks(&self) -> Result<(Vec<u64>, Vec<u64>), VoxelError> {
        let extent = self.size.map(|n| n.div_ceil(8) as u32);
        let n = extent.iter().map(|&n| n as usize).product();
        let mut all = reserve("codes of bricks", n)?;
        for k in 0..extent[2] {
            for j in 0..extent[1] {
                all.extend((0..extent[0]).map(|i| morton_code([i, j, k])));
            }
        }
        all.par_sort_unstable();
        let parts: Vec<(Vec<u64>, Vec<u64>)> = all
            .par_chunks(CHUNK)
            .map(|chunk| {
                let (mut codes, mut masks) = (Vec::new(), Vec::new());
                for &code in chunk {
                    let mask = self.mask(morton_position(code));
                    if mask != [0; 8] {
                        codes.push(code);
                        masks.extend(mask);
                    }
                }
                (codes, masks)
            })
            .collect();
        drop(all);
        let n: usize = parts.iter().map(|(codes, _)| codes.len()).sum();
        let (mut codes, mut masks) = (reserve("codes of bricks", n)?, reserve("masks of bricks", 8 * n)?);
        for (code, mask) in parts {
            codes.extend(code);
            masks.extend(mask);
        }
        Ok((codes, masks))
    }

    /// The value of each element, in the order of the elements.
    fn values(&self, bricks: &Bricks) -> Result<Vec<T>, VoxelError> {
        let n = bricks.element_first.last().map_or(0, |&n| n as usize);
        let mut values = filled("values of elements", n, T::default())?;
        let pieces = super::cut(&mut values, &bricks.element_first, CHUNK);
        pieces.into_par_iter().enumerate().for_each(|(chunk, piece)| {
            let mut piece = piece.iter_mut();
            for brick in chunk * CHUNK..((chunk + 1) * CHUNK).min(bricks.code.len()) {
                let [i, j, k] = morton_position(bricks.code[brick]).map(|p| 8 * p as usize);
                for (word, &bits) in bricks.view().elements(brick).iter().enumerate() {
                    let mut left = bits;
                    while left != 0 {
                        let slot = 64 * word as u64 + u64::from(left.trailing_zeros());
                        left &= left - 1;
                        let [x, y, z] = morton_position(slot).map(|p| p as usize);
                        let at = ((k + z) * self.size[1] + j + y) * self.size[0] + i + x;
                        if let Some(value) = piece.next() {
                            *value = self.voxels[at].value();
                        }
                    }
                }
            }
        });
        Ok(values)
    }
}

/// Cuts a slice where chunks of bricks begin; `first` is the first entry of each brick, (n_bricks + 1,).
pub(super) fn cut<'a, T>(values: &'a mut [T], first: &[u32], chunk: usize) -> Vec<&'a mut [T]> {
    let n = first.len().saturating_sub(1);
    let length = |begin: usize| (first[(begin + chunk).min(n)] - first[begin]) as usize;
    rows::cut(values, (0..n).step_by(chunk).map(length))
}

fn tables<T: Voxel>(size: [usize; 3], voxels: Vec<T>) -> Result<(Bricks, Vec<T>), VoxelError> {
    let image = Image { size, voxels: &voxels };
    let (codes, masks) = image.bricks()?;
    if codes.is_empty() {
        return Err(VoxelError::Empty);
    }
    let bricks = with_nodes(size.map(|n| n as u32), &codes, &masks)?;
    drop((codes, masks));
    let values = image.values(&bricks)?;
    Ok((bricks, values))
}

/// Makes the elements and nodes of a voxel model, numbered in Morton order. Class c ≥ 1 of the image becomes c − 1.
///
/// The memory needed is that of the image, of its bricks (about 252 bytes each) and of the value of each element. The image is
/// freed before this returns. The tables do not depend on the number of threads.
///
/// # Errors
/// No solid voxel, more voxels or nodes than can be numbered, arrays of the wrong length, a modulus that is not a positive
/// number (or 0), or not enough memory.
pub fn mesh(grid: VoxelGrid) -> Result<VoxelMesh, VoxelError> {
    let VoxelGrid { size, spacing, origin, moduli } = grid;
    if let Some(axis) = size.iter().position(|&n| n > LONGEST) {
        return Err(VoxelError::TooLong { axis: ['x', 'y', 'z'][axis], found: size[axis], limit: LONGEST });
    }
    let n = size.iter().try_fold(1_usize, |n, &more| n.checked_mul(more));
    let right = |found: usize| match n {
        Some(n) if n == found => Ok(()),
        _ => Err(VoxelError::Inconsistent(format!("{found} voxels for {} × {} × {}", size[0], size[1], size[2]))),
    };
    let inconsistent = |reason: String| Err(VoxelError::Inconsistent(reason));
    let (bricks, element_class, element_modulus) = match moduli {
        VoxelModuli::Classes { class, materials } => {
            right(class.len())?;
            let most = class.par_iter().with_min_len(1 << 16).copied().max().unwrap_or(0);
            if usize::from(most) > materials.len() {
                return inconsistent(format!("class {most} where {} materials are known", materials.len()));
            }
            let (bricks, classes) = tables(size, class)?;
            (bricks, classes, Vec::new())
        }
        VoxelModuli::Each(modulus) => {
            right(modulus.len())?;
            if let Some(&bad) = modulus.par_iter().with_min_len(1 << 16).find_first(|e| !(e.is_finite() && **e >= 0.0))
            {
                return inconsistent(format!("a modulus of {bad}"));
            }
            let (bricks, moduli) = tables(size, modulus)?;
            (bricks, Vec::new(), moduli)
        }
    };
    Ok(VoxelMesh { size: size.map(|n| n as u32), spacing, origin, bricks, element_class, element_modulus })
}
