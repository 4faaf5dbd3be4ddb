//! The planes that slices are shown on, and how they lie on a screen or a page.

use glam::DVec3;

/// A plane across the axes of patient LPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnatomicalPlane {
    Axial,
    Sagittal,
    Coronal,
}

impl AnatomicalPlane {
    pub const ALL: [Self; 3] = [Self::Axial, Self::Sagittal, Self::Coronal];

    pub fn name(self) -> &'static str {
        match self {
            Self::Axial => "Axial",
            Self::Sagittal => "Sagittal",
            Self::Coronal => "Coronal",
        }
    }

    /// Directions of a picture in patient LPS: right and down. The patient's left is on the right, anterior is up in axial
    /// pictures and to the left in sagittal ones, head is up.
    pub fn axes(self) -> [DVec3; 2] {
        match self {
            Self::Axial => [DVec3::X, DVec3::Y],
            Self::Sagittal => [DVec3::Y, DVec3::NEG_Z],
            Self::Coronal => [DVec3::X, DVec3::NEG_Z],
        }
    }

    /// The axis of patient LPS (0 x, 1 y, 2 z) across the plane.
    pub fn normal_axis(self) -> usize {
        match self {
            Self::Axial => 2,
            Self::Sagittal => 0,
            Self::Coronal => 1,
        }
    }
}
