//! Light parts between the dense parts of a body or against them, found along the axes of the grid: the cork between two
//! slabs, a sheet laid on the skin.

use rayon::prelude::*;

/// Class of a voxel, in this order: from [`KEPT`] on it belongs to the body.
pub(super) const AIR: u8 = 0;
/// Lung, cork, foam: denser than air and thinner than skin.
pub(super) const LIGHT: u8 = 1;
/// As dense as the body and, so far, no part of it: sheets and small things.
pub(super) const SHEET: u8 = 2;
pub(super) const KEPT: u8 = 3;
/// Light matter, and its contents, between two voxels of the body.
pub(super) const BRIDGE: u8 = 4;

/// More air than this on the way ends a stack, mm: slabs do not lie flat and a bolus stands off the skin.
const MOST_AIR_MM: f32 = 6.0;

/// A way through a sheet longer than this runs along it, not across, mm.
const MOST_SHEET_MM: f32 = 12.0;

/// The classes of all voxels, `[z][y][x]`.
pub(super) struct Classes {
    pub of: Vec<u8>,
    pub size: [usize; 3],
    /// Extent of the voxels along x, y, z, mm.
    pub steps_mm: [Vec<f32>; 3],
}

/// Voxels on a line along an axis.
#[derive(Clone, Copy)]
pub(super) struct Span {
    first: usize,
    stride: usize,
    count: usize,
}

/// How the lines along an axis lie in the voxels: sheets of lanes, walked side by side.
struct Lines {
    sheets: usize,
    lanes: usize,
    steps: usize,
    /// Of sheets, lanes and steps.
    strides: [usize; 3],
}

/// Since a line was last in the body.
#[derive(Clone, Default)]
struct Since {
    /// Whether it has been in it.
    met: bool,
    /// Voxels passed.
    count: usize,
    /// The way through the air and through the sheet that it is in now.
    air_mm: f32,
    sheet_mm: f32,
    /// Length of the line, and of its part in matter.
    length_mm: f32,
    matter_mm: f32,
}

impl Since {
    /// One voxel on; whether the line still hangs together with the body behind it.
    fn pass(&mut self, class: u8, step_mm: f32) -> bool {
        self.count += 1;
        self.length_mm += step_mm;
        self.air_mm = if class == AIR { self.air_mm + step_mm } else { 0.0 };
        self.sheet_mm = if class == SHEET { self.sheet_mm + step_mm } else { 0.0 };
        if class != AIR {
            self.matter_mm += step_mm;
        }
        self.met &= self.air_mm <= MOST_AIR_MM;
        self.met
    }
}

impl Classes {
    fn lines(&self, axis: usize) -> Lines {
        let [nx, ny, nz] = self.size;
        match axis {
            0 => Lines { sheets: nz, lanes: ny, steps: nx, strides: [nx * ny, nx, 1] },
            1 => Lines { sheets: nz, lanes: nx, steps: ny, strides: [nx * ny, 1, nx] },
            _ => Lines { sheets: ny, lanes: nx, steps: nz, strides: [nx, 1, nx * ny] },
        }
    }

    /// Calls `visit(sheet's findings, line's state, voxel, step)` along every line, up or down the axis.
    fn walk<T: Send>(
        &self,
        axis: usize,
        up: bool,
        visit: impl Fn(&mut Vec<T>, &mut Since, usize, usize) + Sync,
    ) -> Vec<T> {
        let Lines { sheets, lanes, steps, strides } = self.lines(axis);
        let of_sheet = |sheet: usize| {
            let mut found = Vec::new();
            let mut since = vec![Since::default(); lanes];
            for n in 0..steps {
                let step = if up { n } else { steps - 1 - n };
                for (lane, since) in since.iter_mut().enumerate() {
                    let voxel = sheet * strides[0] + lane * strides[1] + step * strides[2];
                    visit(&mut found, since, voxel, step);
                }
            }
            found
        };
        (0..sheets).into_par_iter().flat_map_iter(of_sheet).collect()
    }

    /// The voxels of sheets that a line across them reaches from the body, through little air.
    pub fn attached(&self) -> Vec<usize> {
        let mut all = Vec::new();
        for (axis, up) in [(0, true), (0, false), (1, true), (1, false), (2, true), (2, false)] {
            all.extend(self.walk(axis, up, |found, since, voxel, step| {
                let class = self.of[voxel];
                if class >= KEPT {
                    *since = Since { met: true, ..Since::default() };
                } else if since.met && since.pass(class, self.steps_mm[axis][step]) && class == SHEET {
                    since.met = since.sheet_mm <= MOST_SHEET_MM;
                    if since.met {
                        found.push(voxel);
                    }
                }
            }));
        }
        all
    }

    /// The ways from one kept voxel to the next, along any axis, that lead through light matter for more than half of
    /// their length and through little air at a time.
    pub fn bridges(&self) -> Vec<Span> {
        let mut all = Vec::new();
        for axis in 0..3 {
            let stride = self.lines(axis).strides[2];
            all.extend(self.walk(axis, true, |found, since, voxel, step| {
                let class = self.of[voxel];
                if class < KEPT {
                    if since.met {
                        since.pass(class, self.steps_mm[axis][step]);
                    }
                    return;
                }
                if since.met && since.count > 0 && since.matter_mm > 0.5 * since.length_mm {
                    let count = since.count;
                    found.push(Span { first: voxel - count * stride, stride, count });
                }
                *since = Since { met: true, ..Since::default() };
            }));
        }
        all
    }

    /// Marks the voxels on the spans.
    pub fn bridge(&mut self, spans: &[Span]) {
        for span in spans {
            (0..span.count).for_each(|n| self.of[span.first + n * span.stride] = BRIDGE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of letters: `K` kept, `s` sheet, `-` light, `.` air; voxels of 2 mm, along each axis in turn.
    fn along(axis: usize, line: &str) -> Classes {
        let class = |c| match c {
            'K' => KEPT,
            's' => SHEET,
            '-' => LIGHT,
            _ => AIR,
        };
        let of: Vec<u8> = line.chars().map(class).collect();
        let mut size = [1; 3];
        size[axis] = of.len();
        Classes { of, size, steps_mm: size.map(|n| vec![2.0; n]) }
    }

    fn bridged(axis: usize, line: &str) -> String {
        let mut classes = along(axis, line);
        let spans = classes.bridges();
        classes.bridge(&spans);
        classes.of.iter().map(|&c| ['.', '-', 's', 'K', '#'][usize::from(c)]).collect()
    }

    #[test]
    fn light_layers_between_kept_ones_are_bridged() {
        for axis in 0..3 {
            assert_eq!(bridged(axis, "--KK------KK--"), "--KK######KK--");
            assert_eq!(bridged(axis, ".KK.--s-...-----K."), ".KK#############K.", "a sheet, and 6 mm of air");
            assert_eq!(bridged(axis, "K----....-----K"), "K----....-----K", "8 mm of air end the stack");
            assert_eq!(bridged(axis, "K-..K---K"), "K-..K###K", "mostly air");
        }
    }

    #[test]
    fn sheets_are_reached_across_and_not_along() {
        let reached = |line: &str| {
            let mut all = along(1, line).attached();
            all.sort_unstable();
            all
        };
        assert_eq!(reached("ss.KK...ss----s.."), [0, 1, 8, 9, 14]);
        assert_eq!(reached("KK....ss"), [0_usize; 0], "8 mm off");
        assert_eq!(reached("Kssssssss"), [1, 2, 3, 4, 5, 6], "12 mm at the most");
    }
}
