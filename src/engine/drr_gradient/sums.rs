//! Sums of products over groups of features, for normalised cross correlations: a feature being the value of a
//! ray or the difference of two.

use super::level::AXES;

/// Features of a correlation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// A feature is `value[plus] - value[minus]` of a list of rays, or `value[plus]` where there is no `minus`.
    pub plus: Vec<u32>,
    pub minus: Vec<u32>,
    /// The X-ray's features: of each group the mean is 0 and the sum of squares 1.
    pub fixed: Vec<f32>,
    /// First feature of each group, and one past its last.
    pub groups: Vec<[u32; 2]>,
}

impl Features {
    /// A feature of some rays' values.
    pub fn at(&self, n: usize, values: &[f32]) -> f32 {
        let plus = values[self.plus[n] as usize];
        if self.minus.is_empty() {
            plus
        } else {
            plus - values[self.minus[n] as usize]
        }
    }

    /// Features of a group.
    pub fn count(&self, group: usize) -> f64 {
        let [begin, end] = self.groups[group];
        f64::from(end - begin)
    }

    /// One after the other: the rays of `other` follow `rays` of these. Both have differences, or neither.
    pub fn extend(&mut self, other: &Self, rays: u32) {
        let begin = self.plus.len() as u32;
        self.plus.extend(other.plus.iter().map(|n| n + rays));
        self.minus.extend(other.minus.iter().map(|n| n + rays));
        self.fixed.extend(&other.fixed);
        self.groups
            .extend(other.groups.iter().map(|g| g.map(|n| n + begin)));
    }

    /// The sums of a group without derivatives.
    pub fn sums(&self, group: usize, drr: &[f32]) -> Sums {
        let [begin, end] = self.groups[group];
        let [mut m, mut mm, mut fm] = [0.0; 3];
        for n in begin as usize..end as usize {
            let (f, v) = (f64::from(self.fixed[n]), f64::from(self.at(n, drr)));
            m += v;
            mm += v * v;
            fm += f * v;
        }
        Sums::of_values(self.count(group), [m, mm, fm])
    }

    /// The sums of a group.
    pub fn products(&self, group: usize, drr: &[f32], derivatives: &[&[f32]; AXES]) -> Sums {
        let mut sums = Sums::default();
        let [begin, end] = self.groups[group];
        for n in begin as usize..end as usize {
            let (f, m) = (f64::from(self.fixed[n]), f64::from(self.at(n, drr)));
            let d: [f64; AXES] = std::array::from_fn(|a| f64::from(self.at(n, derivatives[a])));
            sums.m += m;
            sums.mm += m * m;
            sums.fm += f * m;
            for a in 0..AXES {
                sums.d[a] += d[a];
                sums.fd[a] += f * d[a];
                sums.md[a] += m * d[a];
                for b in 0..=a {
                    sums.dd[a][b] += d[a] * d[b];
                }
            }
        }
        Sums {
            count: self.count(group),
            ..sums
        }
    }
}

/// A correlation at a pose, its gradient by pose, and the Gauss-Newton matrix of its difference from 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorrelationAtPose {
    /// Value of the correlation; up to 1.
    pub value: f64,
    /// Its derivative by each number of the pose.
    pub gradient: [f64; AXES],
    /// `J'J` of the residuals `fixed - drr`, each normalised: `value = 1 - |residuals|^2 / 2`.
    pub matrix: [[f64; AXES]; AXES],
}

/// Sums of products over a group: of the DRR's features `m`, their derivatives `d`, and the X-ray's `f`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// Features of the group.
    count: f64,
    m: f64,
    mm: f64,
    fm: f64,
    d: [f64; AXES],
    fd: [f64; AXES],
    md: [f64; AXES],
    /// The lower triangle.
    dd: [[f64; AXES]; AXES],
}

/// How many sums there are with derivatives.
pub const PRODUCTS: usize = 3 + 3 * AXES + AXES * (AXES + 1) / 2;

impl Sums {
    /// Sums of `m`, `m m`, `f m`.
    pub fn of_values(count: f64, [m, mm, fm]: [f64; 3]) -> Self {
        Self {
            count,
            m,
            mm,
            fm,
            ..Self::default()
        }
    }

    /// Sums of `m`, `m m`, `f m`, then of each axis `d`, `f d`, `m d`, then `d d` of the lower triangle, row by row: as
    /// the kernels have them.
    pub fn of_products(count: f64, sums: &[f64; PRODUCTS]) -> Self {
        let mut out = Self::of_values(count, [sums[0], sums[1], sums[2]]);
        let mut place = 3 + 3 * AXES;
        for axis in 0..AXES {
            out.d[axis] = sums[3 + 3 * axis];
            out.fd[axis] = sums[4 + 3 * axis];
            out.md[axis] = sums[5 + 3 * axis];
            for other in 0..=axis {
                out.dd[axis][other] = sums[place];
                place += 1;
            }
        }
        out
    }

    /// Square of the length of the centred features; `None` where they have one value.
    fn square(&self) -> Option<f64> {
        let square = self.mm - self.m * self.m / self.count;
        (square > 1e-12 * self.mm.max(f64::MIN_POSITIVE)).then_some(square)
    }

    /// The group's correlation; `None` where the DRR has one value.
    pub fn correlation(&self) -> Option<f64> {
        self.square().map(|square| self.fm / square.sqrt())
    }

    /// Adds a group's part; false where its correlation is undefined.
    ///
    /// With `f` and `m` the normalised features, the residuals `f - m` have `|f - m|^2 = 2 - 2 f.m`, and the derivative
    /// of `m` is `(d - m (m.d)) / |M|`, `d` the centred derivative of the features `M`.
    pub fn add_to(&self, out: &mut CorrelationAtPose, weight: f64) -> bool {
        let Some(square) = self.square() else {
            return false;
        };
        let n = self.count;
        let length = square.sqrt();
        let value = self.fm / length;
        // Of the normalised DRR with the centred derivatives.
        let along: [f64; AXES] =
            std::array::from_fn(|a| (self.md[a] - self.m * self.d[a] / n) / length);
        out.value += weight * value;
        for a in 0..AXES {
            // The X-ray's features are centred; the derivative's need not be.
            out.gradient[a] += weight * (self.fd[a] - value * along[a]) / length;
            for b in 0..=a {
                let centred = self.dd[a][b] - self.d[a] * self.d[b] / n;
                let entry = weight * (centred - along[a] * along[b]) / square;
                out.matrix[a][b] += entry;
                if a != b {
                    out.matrix[b][a] += entry;
                }
            }
        }
        true
    }
}
