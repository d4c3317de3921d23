//! Lists of numbers one behind the other.

/// A list of numbers for each index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists {
    /// First entry of each list in `values`, and the end.
    first: Vec<u32>,
    values: Vec<u32>,
}

impl Lists {
    /// Lists of these lengths.
    pub fn new(lengths: impl Iterator<Item = u32>, values: Vec<u32>) -> Self {
        Self { first: starts(lengths), values }
    }

    /// For each of `n` keys the values that stand with it, in their order. `pairs` is called twice.
    pub fn by_key<I: Iterator<Item = (u32, u32)>>(n: usize, pairs: impl Fn() -> I) -> Self {
        let mut count = vec![0_u32; n];
        pairs().for_each(|(key, _)| count[key as usize] += 1);
        let first = starts(count.into_iter());
        let mut next = first.clone();
        let mut values = vec![0_u32; first.last().map_or(0, |&n| n as usize)];
        // A `for` loop would ask nested iterators for one pair after another, which takes six times as long.
        pairs().for_each(|(key, value)| {
            let next = &mut next[key as usize];
            values[*next as usize] = value;
            *next += 1;
        });
        Self { first, values }
    }

    /// The list of an index.
    #[inline(always)]
    pub fn of(&self, index: usize) -> &[u32] {
        &self.values[self.first[index] as usize..self.first[index + 1] as usize]
    }

    /// The starts of the lists with the end, and all values.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>) {
        (self.first, self.values)
    }
}

/// The start of each of consecutive ranges of these lengths, and the end.
pub(crate) fn starts(lengths: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut out = Vec::with_capacity(lengths.size_hint().0 + 1);
    let mut end = 0;
    out.push(0);
    out.extend(lengths.map(|length| {
        end += length;
        end
    }));
    out
}
