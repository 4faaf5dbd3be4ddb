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
    id: u64,
}

impl Contours {
    /// Equal identities mean equal contours, through undo and redo as well; 0 stands for no contours.
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl From<Vec<Contour>> for Contours {
    fn from(list: Vec<Contour>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = if list.is_empty() { 0 } else { NEXT.fetch_add(1, Ordering::Relaxed) };
        Self { list: list.into(), id }
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
}
