//! The contours of a structure: shared by all clones, with an identity.

use super::Contour;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Closed planar polygons that never change: an edit makes new ones. Clones share the points and the
/// identity, so that a changed structure is detected without comparing points.
#[derive(Clone, Debug)]
pub struct Contours {
    list: Arc<[Contour]>,
    /// z in mm and index in `list` of the contours on axial planes, by z: a view finds its few among hundreds in each frame.
    axial: Arc<[(f64, usize)]>,
    id: u64,
}

impl Contours {
    /// Equal identities mean equal contours, through undo and redo as well; 0 stands for no contours.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The contours on axial planes from `low_mm` to `high_mm` with their z, in mm, by z.
    pub fn axial_between(&self, low_mm: f64, high_mm: f64) -> impl Iterator<Item = (f64, &Contour)> {
        let first = self.axial.partition_point(|(z, _)| *z < low_mm);
        self.axial[first..].iter().take_while(move |(z, _)| *z <= high_mm).map(|(z, n)| (*z, &self.list[*n]))
    }
}

impl From<Vec<Contour>> for Contours {
    fn from(list: Vec<Contour>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = if list.is_empty() { 0 } else { NEXT.fetch_add(1, Ordering::Relaxed) };
        let mut axial: Vec<(f64, usize)> =
            list.iter().enumerate().filter_map(|(n, contour)| Some((contour.axial_z_mm()?, n))).collect();
        axial.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { list: list.into(), axial: axial.into(), id }
    }
}

impl Default for Contours {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl FromIterator<Contour> for Contours {
    fn from_iter<I: IntoIterator<Item = Contour>>(contours: I) -> Self {
        contours.into_iter().collect::<Vec<_>>().into()
    }
}

impl Deref for Contours {
    type Target = [Contour];

    fn deref(&self) -> &[Contour] {
        &self.list
    }
}

impl<'a> IntoIterator for &'a Contours {
    type Item = &'a Contour;
    type IntoIter = std::slice::Iter<'a, Contour>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl PartialEq for Contours {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id || self.list == other.list
    }
}

impl Serialize for Contours {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Contours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    #[test]
    fn clones_share_the_identity_and_equal_points_made_anew_are_equal() {
        let made = || -> Contours {
            vec![Contour { points_mm: vec![DVec3::X, DVec3::Y, DVec3::ZERO], image_uid: None }].into()
        };
        let (a, b) = (made(), made());
        assert!(a.clone().id() == a.id() && a.id() != b.id() && a == b);
        assert_eq!(Contours::default().id(), Contours::from(Vec::new()).id());
        let text = serde_json::to_string(&a).expect("text");
        assert_eq!(serde_json::from_str::<Contours>(&text).expect("contours"), a);
    }

    #[test]
    fn contours_are_found_by_their_axial_plane() {
        let at = |z: [f64; 3]| Contour {
            points_mm: vec![
                DVec3::X * 9.0 + DVec3::Z * z[0],
                DVec3::Y * 9.0 + DVec3::Z * z[1],
                DVec3::Z * z[2],
            ],
            image_uid: None,
        };
        let tilted = at([0.0, 0.0, 3.0]);
        let line = Contour { points_mm: vec![DVec3::X, DVec3::Y], image_uid: None };
        let all: Contours = vec![at([4.0; 3]), tilted, at([1.0; 3]), line, at([1.0; 3]), at([9.0; 3])].into();
        let found = |low, high| all.axial_between(low, high).map(|(z, _)| z).collect::<Vec<_>>();
        assert_eq!(found(1.0, 4.0), [1.0, 1.0, 4.0]);
        assert_eq!(found(1.1, 3.9), [0.0; 0]);
        assert_eq!(found(f64::NEG_INFINITY, f64::INFINITY).len(), 4);
    }
}
