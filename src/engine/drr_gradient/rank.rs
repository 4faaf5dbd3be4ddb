//! Spearman's rank correlation of listed pixels: with a random part of them the stochastic rank correlation of
//! Birkfellner 2009. Equal values share the mean of their ranks.

/// Ranks of an X-ray's listed pixels.
#[derive(Clone, Debug)]
pub struct Rank {
    /// Twice each pixel's rank, counted from the middle one.
    fixed: Vec<i32>,
    square: f64,
}

impl Rank {
    /// `None` where the X-ray has one value only.
    pub fn new(fixed: &[f32]) -> Option<Self> {
        let fixed = ranks(fixed);
        let square = product(&fixed, &fixed);
        (square > 0).then_some(Self {
            fixed,
            square: square as f64,
        })
    }

    /// Twice the rank of each pixel of the X-ray, counted from the middle one.
    pub fn fixed(&self) -> &[i32] {
        &self.fixed
    }

    /// -1 to 1; `None` where the DRR has one value only.
    pub fn value(&self, drr: &[f32]) -> Option<f64> {
        let moving = ranks(drr);
        self.value_of([product(&moving, &moving), product(&self.fixed, &moving)])
    }

    /// As [`Rank::value`], from the sums of the squares of the DRR's doubled ranks and of their products with the X-ray's.
    pub fn value_of(&self, [square, product]: [i64; 2]) -> Option<f64> {
        (square > 0).then(|| product as f64 / (self.square * square as f64).sqrt())
    }
}

fn product(a: &[i32], b: &[i32]) -> i64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| i64::from(*a) * i64::from(*b))
        .sum()
}

/// Twice each value's rank, counted from the middle one: whole numbers also where equal values share a rank.
fn ranks(values: &[f32]) -> Vec<i32> {
    let order = sorted(values);
    let count = order.len();
    let mut ranks = vec![0; count];
    let mut begin = 0;
    while begin < count {
        let equal = order[begin..]
            .iter()
            .take_while(|one| **one >> 32 == order[begin] >> 32);
        let end = begin + equal.count();
        let rank = (begin + end) as i32 - count as i32;
        order[begin..end]
            .iter()
            .for_each(|one| ranks[*one as u32 as usize] = rank);
        begin = end;
    }
    ranks
}

/// The values ascending, each as bits in the order of its value (the high half) and its place (the low half): by digits of 11
/// bits, the lowest first, which takes half the time of comparing.
fn sorted(values: &[f32]) -> Vec<u64> {
    const DIGIT: u32 = 11;
    // As -0.0 + 0.0 is 0.0, both zeros are one; below zero all bits turn over, from there on the sign's.
    let key = |value: f32| {
        let bits = (value + 0.0).to_bits();
        bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 }
    };
    let mut from: Vec<u64> = values
        .iter()
        .zip(0..)
        .map(|(v, n)| u64::from(key(*v)) << 32 | n)
        .collect();
    let mut to = vec![0; from.len()];
    for digit in 0..3 {
        let digit_value = |one: u64| (one >> (32 + digit * DIGIT)) as usize & ((1 << DIGIT) - 1);
        let mut places = [0_u32; 1 << DIGIT];
        from.iter().for_each(|one| places[digit_value(*one)] += 1);
        let mut sum = 0;
        for place in &mut places {
            (*place, sum) = (sum, sum + *place);
        }
        for one in &from {
            let place = &mut places[digit_value(*one)];
            to[*place as usize] = *one;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against pairwise comparison: every sign, both zeros, equal values, the extremes of floats.
    #[test]
    fn ranks_are_those_of_comparing() {
        let mut values = vec![
            0.0,
            -0.0,
            1.5,
            -1.5,
            1.5,
            f32::MAX,
            f32::MIN,
            1e-40,
            -1e-40,
            3.0,
            f32::INFINITY,
        ];
        values.extend((0..500).map(|n| ((n * 7919 % 251) as f32 - 120.0) * 0.37));
        let want: Vec<i32> = values
            .iter()
            .map(|v| {
                values
                    .iter()
                    .map(|w| i32::from(w < v) + i32::from(w <= v))
                    .sum::<i32>()
                    - values.len() as i32
            })
            .collect();
        assert_eq!(ranks(&values), want);
    }
}
