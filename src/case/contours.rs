//! The contours of a structure: shared by all clones and by all edits that leave them alone, with an identity.

use super::Contour;
use super::planes::{self, Mended};
use geometry::OverlapRule;
use glam::DVec3;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Closed planar polygons that never change: an edit makes new ones. Clones share the points and the
/// identity, so that a changed structure is detected without comparing points. A stroke shares the contours of all
/// planes that it leaves alone ([`Self::replaced`]): an undo step takes the memory of the planes that changed.
///
/// On a plane they combine by exclusive-or: an inner one is a hole. Whoever reads them may rely on that, since those that
/// repeat or overlap one another are mended where contours come in from outside ([`Self::mended`]).
#[derive(Clone, Debug)]
pub struct Contours {
    list: Arc<[Arc<Contour>]>,
    /// z in mm and index in `list` of the contours on axial planes, by z: a view finds its few among hundreds in each frame.
    axial: Arc<[(f64, usize)]>,
    /// The box around all points, computed once: a view is fitted to it in each frame.
    box_mm: Arc<OnceLock<Option<[DVec3; 2]>>>,
    id: u64,
    mended: Mended,
}

impl Contours {
    /// Contours that on a plane combine by exclusive-or whatever they have in common.
    pub fn exclusive(list: Vec<Contour>) -> Self {
        Self::read(
            list.into_iter().map(Arc::new).collect(),
            OverlapRule::ExclusiveOr,
        )
    }

    /// Contours that were not taken as they came.
    pub fn mended(&self) -> Mended {
        self.mended
    }

    fn read(list: Vec<Arc<Contour>>, rule: OverlapRule) -> Self {
        let (list, mended) = planes::mended(list, rule);
        let axial = axial_of(&list).collect();
        Self {
            mended,
            ..Self::new(list, axial)
        }
    }

    /// Lowest and highest corner of the box around all points, patient LPS, mm; none without points.
    pub fn box_mm(&self) -> Option<[DVec3; 2]> {
        *self.box_mm.get_or_init(|| {
            let points = self
                .list
                .iter()
                .flat_map(|contour| contour.points_mm.iter().copied());
            points
                .map(|p| [p, p])
                .reduce(|[low, high], [a, b]| [low.min(a), high.max(b)])
        })
    }

    /// Equal identities mean equal contours, through undo and redo as well; 0 stands for no contours.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The contours on axial planes from `low_mm` to `high_mm` with their z, in mm, by z.
    pub fn axial_between(
        &self,
        low_mm: f64,
        high_mm: f64,
    ) -> impl Iterator<Item = (f64, &Contour)> {
        let first = self.axial.partition_point(|(z, _)| *z < low_mm);
        self.axial[first..]
            .iter()
            .take_while(move |(z, _)| *z <= high_mm)
            .map(|(z, n)| (*z, &*self.list[*n]))
    }

    /// The contours without those that go, and with others after them. Those that stay are shared, points and all.
    #[must_use]
    pub fn replaced(&self, goes: impl Fn(&Contour) -> bool, with: Vec<Contour>) -> Self {
        let mut list = Vec::with_capacity(self.list.len() + with.len());
        // The place of each contour in the new list: those that stay need no look at their points.
        let mut places = Vec::with_capacity(self.list.len());
        for contour in self.list.iter() {
            let stays = !goes(contour);
            places.push(stays.then_some(list.len()));
            list.extend(stays.then(|| Arc::clone(contour)));
        }
        let kept = list.len();
        list.extend(with.into_iter().map(Arc::new));
        let mut axial: Vec<(f64, usize)> = self
            .axial
            .iter()
            .filter_map(|(z, n)| Some((*z, places[*n]?)))
            .collect();
        axial.extend(axial_of(&list[kept..]).map(|(z, n)| (z, kept + n)));
        Self::new(list, axial)
    }

    fn new(list: Vec<Arc<Contour>>, mut axial: Vec<(f64, usize)>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = if list.is_empty() {
            0
        } else {
            NEXT.fetch_add(1, Ordering::Relaxed)
        };
        axial.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            list: list.into(),
            axial: axial.into(),
            box_mm: Arc::default(),
            id,
            mended: Mended::default(),
        }
    }
}

/// z in mm and index of the contours on axial planes.
fn axial_of(list: &[Arc<Contour>]) -> impl Iterator<Item = (f64, usize)> {
    list.iter()
        .enumerate()
        .filter_map(|(n, contour)| Some((contour.axial_z_mm()?, n)))
}

impl From<Vec<Arc<Contour>>> for Contours {
    fn from(list: Vec<Arc<Contour>>) -> Self {
        Self::read(list, OverlapRule::Union)
    }
}

impl From<Vec<Contour>> for Contours {
    fn from(list: Vec<Contour>) -> Self {
        list.into_iter().map(Arc::new).collect::<Vec<_>>().into()
    }
}

impl Default for Contours {
    fn default() -> Self {
        Vec::<Contour>::new().into()
    }
}

impl FromIterator<Arc<Contour>> for Contours {
    fn from_iter<I: IntoIterator<Item = Arc<Contour>>>(contours: I) -> Self {
        contours.into_iter().collect::<Vec<_>>().into()
    }
}

impl FromIterator<Contour> for Contours {
    fn from_iter<I: IntoIterator<Item = Contour>>(contours: I) -> Self {
        contours.into_iter().collect::<Vec<_>>().into()
    }
}

impl Deref for Contours {
    type Target = [Arc<Contour>];

    fn deref(&self) -> &[Arc<Contour>] {
        &self.list
    }
}

impl<'a> IntoIterator for &'a Contours {
    type Item = &'a Arc<Contour>;
    type IntoIter = std::slice::Iter<'a, Arc<Contour>>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl PartialEq for Contours {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
            || (self.len() == other.len()
                && self
                    .iter()
                    .zip(other.iter())
                    .all(|(a, b)| Arc::ptr_eq(a, b) || a == b))
    }
}

impl Serialize for Contours {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list.iter().map(|contour| &**contour))
    }
}

impl<'de> Deserialize<'de> for Contours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Contour>::deserialize(deserializer)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    #[test]
    fn clones_share_the_identity_and_equal_points_made_anew_are_equal() {
        let points_mm = vec![DVec3::X, DVec3::Y, DVec3::ZERO];
        let [a, b] = [(); 2].map(|()| {
            Contours::from(vec![Contour {
                points_mm: points_mm.clone(),
                image_uid: None,
            }])
        });
        assert!(a.clone().id() == a.id() && a.id() != b.id() && a == b);
        assert_eq!(
            Contours::default().id(),
            Contours::from(Vec::<Contour>::new()).id()
        );
        let text = serde_json::to_string(&a).expect("text");
        assert_eq!(
            serde_json::from_str::<Contours>(&text).expect("contours"),
            a
        );
    }

    fn at(z: [f64; 3]) -> Contour {
        let points_mm = vec![
            DVec3::X * 9.0 + DVec3::Z * z[0],
            DVec3::Y * 9.0 + DVec3::Z * z[1],
            DVec3::Z * z[2],
        ];
        Contour {
            points_mm,
            image_uid: None,
        }
    }

    fn planes(contours: &Contours, low_mm: f64, high_mm: f64) -> Vec<(f64, Contour)> {
        contours
            .axial_between(low_mm, high_mm)
            .map(|(z, contour)| (z, contour.clone()))
            .collect()
    }

    fn heights_mm(contours: &Contours, low_mm: f64, high_mm: f64) -> Vec<f64> {
        planes(contours, low_mm, high_mm)
            .into_iter()
            .map(|(z, _)| z)
            .collect()
    }

    /// The same contours put together from scratch are found on the same planes, and those that stay are not copied.
    #[test]
    fn contours_that_stay_are_shared_and_found_as_if_all_were_new() {
        let tilted = at([0.0, 0.0, 3.0]);
        let old: Contours = vec![at([4.0; 3]), tilted, at([1.0; 3]), at([9.0; 3])].into();

        let replaced = old.replaced(
            |c| c.axial_z_mm() == Some(1.0),
            vec![at([4.0; 3]), at([2.0; 3])],
        );
        let anew: Contours = replaced.iter().map(|c| Contour::clone(c)).collect();

        let (lowest, highest) = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(
            planes(&replaced, lowest, highest),
            planes(&anew, lowest, highest)
        );
        assert_eq!(replaced, anew);
        for (n, was) in [(0, 0), (1, 1), (2, 3)] {
            assert!(Arc::ptr_eq(&replaced[n], &old[was]));
        }
        assert_ne!(replaced, old);
        assert_eq!(
            replaced.replaced(|_| true, Vec::new()).id(),
            Contours::default().id()
        );
    }

    #[test]
    fn contours_are_found_by_their_axial_plane() {
        let tilted = at([0.0, 0.0, 3.0]);
        let line = Contour {
            points_mm: vec![DVec3::X, DVec3::Y],
            image_uid: None,
        };
        let contours: Contours = vec![
            at([4.0; 3]),
            tilted,
            at([1.0; 3]),
            line,
            at([1.0; 3]),
            at([9.0; 3]),
        ]
        .into();

        assert_eq!(heights_mm(&contours, 1.0, 4.0), [1.0, 1.0, 4.0]);
        assert_eq!(heights_mm(&contours, 1.1, 3.9), [0.0; 0]);
        assert_eq!(
            heights_mm(&contours, f64::NEG_INFINITY, f64::INFINITY).len(),
            4
        );
    }
}
