//! Light parts between the dense parts of a body or against them, found along the axes of the grid: the cork between two
//! slabs, a sheet laid on the skin.

use super::bits::BitPlane;
use rayon::prelude::*;

/// Class of a voxel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Kept,
    Sheet,
    Light,
    Air,
}

/// More air than this on the way ends a stack, mm: slabs do not lie flat and a bolus stands off the skin.
const MOST_AIR_MM: f32 = 6.0;

/// A way through a sheet longer than this runs along it, not across, mm.
const MOST_SHEET_MM: f32 = 12.0;

/// The classes of all voxels, plane by plane; of a voxel in several the first counts, one in none is air.
pub(super) struct Classes {
    /// The body.
    pub kept: Vec<BitPlane>,
    /// As dense as the body and, so far, no part of it: sheets and small things.
    pub sheet: Vec<BitPlane>,
    /// Lung, cork, foam: denser than air and thinner than skin.
    pub light: Vec<BitPlane>,
    /// Extent of the voxels along x, y, z, mm.
    pub steps_mm: [Vec<f32>; 3],
}

/// Voxels `[x, y, z]` along an axis, from one on.
struct Span {
    first: [usize; 3],
    axis: usize,
    count: usize,
}

impl Classes {
    fn size(&self) -> [usize; 3] {
        let [nx, ny] = self.kept.first().map_or([0; 2], BitPlane::size);
        [nx, ny, self.kept.len()]
    }

    fn no_voxels(&self) -> Vec<BitPlane> {
        self.kept
            .iter()
            .map(|plane| BitPlane::unset(plane.size()))
            .collect()
    }

    fn class_at(&self, [x, y, z]: [usize; 3]) -> Class {
        if self.kept[z].at(x, y) {
            Class::Kept
        } else if self.sheet[z].at(x, y) {
            Class::Sheet
        } else if self.light[z].at(x, y) {
            Class::Light
        } else {
            Class::Air
        }
    }

    /// The voxels of a plane next to the body, out of it along an axis, up or down.
    fn exits(&self, axis: usize, up: bool, z: usize) -> BitPlane {
        let neighbour = match (axis, up) {
            (0 | 1, _) => self.kept[z].moved(axis, up),
            (_, true) if z > 0 => self.kept[z - 1].clone(),
            (_, false) if z + 1 < self.kept.len() => self.kept[z + 1].clone(),
            _ => return BitPlane::unset(self.kept[z].size()),
        };
        neighbour.without(&self.kept[z])
    }

    /// Spans that `follow` finds on the ways out of the body along an axis, up or down, each from its first voxel to
    /// the image's border.
    fn follow(
        &self,
        axis: usize,
        up: bool,
        follow: impl Fn([usize; 3], &mut dyn Iterator<Item = ([usize; 3], f32)>) -> Vec<Span> + Sync,
    ) -> Vec<Span> {
        let [_, ny, nz] = self.size();
        let steps_mm = &self.steps_mm[axis];
        (0..nz)
            .into_par_iter()
            .flat_map_iter(|z: usize| {
                let exits = self.exits(axis, up, z);
                let mut spans = Vec::new();
                for y in 0..ny {
                    for x in exits.runs(y).flatten() {
                        let first = [x, y, z];
                        let slice_at = |n: usize| {
                            let mut voxel = first;
                            voxel[axis] = n;
                            (voxel, steps_mm[n])
                        };
                        let (above, below) =
                            (first[axis]..steps_mm.len(), (0..first[axis] + 1).rev());
                        spans.extend(if up {
                            follow(first, &mut above.map(slice_at))
                        } else {
                            follow(first, &mut below.map(slice_at))
                        });
                    }
                }
                spans
            })
            .collect()
    }

    /// The voxels of sheets that a line across them reaches from the body, through little air.
    pub fn attached(&self) -> Vec<BitPlane> {
        let mut marked = self.no_voxels();
        for (axis, up) in [
            (0, true),
            (0, false),
            (1, true),
            (1, false),
            (2, true),
            (2, false),
        ] {
            let spans = self.follow(axis, up, |_, way| {
                let mut spans = Vec::new();
                let (mut air_mm, mut sheet_mm) = (0.0, 0.0);
                for (voxel, step_mm) in way {
                    let class = self.class_at(voxel);
                    air_mm = if class == Class::Air {
                        air_mm + step_mm
                    } else {
                        0.0
                    };
                    sheet_mm = if class == Class::Sheet {
                        sheet_mm + step_mm
                    } else {
                        0.0
                    };
                    if class == Class::Kept || air_mm > MOST_AIR_MM || sheet_mm > MOST_SHEET_MM {
                        break;
                    }
                    if class == Class::Sheet {
                        spans.push(Span {
                            first: voxel,
                            axis,
                            count: 1,
                        });
                    }
                }
                spans
            });
            mark(&mut marked, &spans);
        }
        marked
    }

    /// The voxels on the ways from one kept voxel to the next, along any axis, that lead through light matter for more
    /// than half of their length and through little air at a time.
    pub fn bridges(&self) -> Vec<BitPlane> {
        let mut marked = self.no_voxels();
        for axis in 0..3 {
            let spans = self.follow(axis, true, |first, way| {
                let (mut air_mm, mut length_mm, mut matter_mm) = (0.0, 0.0, 0.0);
                for (count, (voxel, step_mm)) in way.enumerate() {
                    let class = self.class_at(voxel);
                    if class == Class::Kept {
                        let spans = matter_mm > 0.5 * length_mm;
                        return if spans {
                            vec![Span { first, axis, count }]
                        } else {
                            Vec::new()
                        };
                    }
                    length_mm += step_mm;
                    air_mm = if class == Class::Air {
                        air_mm + step_mm
                    } else {
                        0.0
                    };
                    if air_mm > MOST_AIR_MM {
                        break;
                    }
                    if class != Class::Air {
                        matter_mm += step_mm;
                    }
                }
                Vec::new()
            });
            mark(&mut marked, &spans);
        }
        marked
    }
}

fn mark(planes: &mut [BitPlane], spans: &[Span]) {
    for &Span {
        first: [x, y, z],
        axis,
        count,
    } in spans
    {
        match axis {
            0 => planes[z].fill(x..x + count, y, true),
            1 => (y..y + count).for_each(|y| planes[z].fill(x..x + 1, y, true)),
            _ => planes[z..z + count]
                .iter_mut()
                .for_each(|plane| plane.fill(x..x + 1, y, true)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of letters: `K` kept, `s` sheet, `-` light, `.` air; voxels of 2 mm, along each axis in turn.
    fn along(axis: usize, line: &str) -> Classes {
        let letters: Vec<char> = line.chars().collect();
        let mut size = [1; 3];
        size[axis] = letters.len();
        let steps_mm = size.map(|n| vec![2.0; n]);
        Classes {
            kept: planes_of('K', &letters, size),
            sheet: planes_of('s', &letters, size),
            light: planes_of('-', &letters, size),
            steps_mm,
        }
    }

    fn planes_of(letter: char, letters: &[char], size: [usize; 3]) -> Vec<BitPlane> {
        letters
            .chunks(size[0] * size[1])
            .map(|plane| BitPlane::from_values(plane, [size[0], size[1]], |&c| c == letter))
            .collect()
    }

    /// Whether each voxel of a line is set.
    fn set(planes: &[BitPlane]) -> Vec<bool> {
        planes
            .iter()
            .flat_map(|plane: &BitPlane| {
                let [nx, ny] = plane.size();
                (0..nx * ny)
                    .map(|n| plane.at(n % nx, n / nx))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    fn bridged(axis: usize, line: &str) -> String {
        let bridges = set(&along(axis, line).bridges());
        line.chars()
            .zip(bridges)
            .map(|(letter, bridge)| if bridge { '#' } else { letter })
            .collect()
    }

    #[test]
    fn light_layers_between_kept_ones_are_bridged() {
        for axis in 0..3 {
            assert_eq!(bridged(axis, "--KK------KK--"), "--KK######KK--");
            assert_eq!(
                bridged(axis, ".KK.--s-...-----K."),
                ".KK#############K.",
                "a sheet, and 6 mm of air"
            );
            assert_eq!(
                bridged(axis, "K----....-----K"),
                "K----....-----K",
                "8 mm of air end the stack"
            );
            assert_eq!(bridged(axis, "K-..K---K"), "K-..K###K", "mostly air");
        }
    }

    #[test]
    fn sheets_are_reached_across_and_not_along() {
        for axis in 0..3 {
            let reached = |line: &str| -> Vec<usize> {
                set(&along(axis, line).attached())
                    .into_iter()
                    .enumerate()
                    .filter_map(|(n, set)| set.then_some(n))
                    .collect()
            };
            assert_eq!(reached("ss.KK...ss----s.."), [0, 1, 8, 9, 14]);
            assert_eq!(reached("KK....ss"), [0_usize; 0], "8 mm off");
            assert_eq!(
                reached("Kssssssss"),
                [1, 2, 3, 4, 5, 6],
                "12 mm at the most"
            );
        }
    }
}
