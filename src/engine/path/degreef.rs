//! The test geometries and test cases of de Greef et al. 2009 (Tables II and III), rebuilt as phantoms: the paper's
//! sizes and spacings, densities of our own (its CTs are not published).

use crate::Random;
use geometry::{BeamFrame, Grid, PatientPosition, Volume};
use glam::DVec3;
use std::sync::Arc;

/// Table II: name, voxels in the patient's bounding box, spacing in mm, and tissue.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub name: char,
    pub size: [usize; 3],
    pub spacing_mm: [f64; 3],
    pub tissue: Tissue,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tissue {
    /// Homogeneous water to the edges.
    Water,
    /// An elliptic pelvis: fat, muscle, two hips and a sacrum, gas in the rectum.
    Pelvis,
    /// Shoulders below, neck and head above, with spine, jaw, skull and airways.
    HeadAndNeck,
}

pub const GEOMETRIES: [Geometry; 4] = [
    Geometry {
        name: 'A',
        size: [452, 452, 31],
        spacing_mm: [0.7, 0.7, 10.0],
        tissue: Tissue::Water,
    },
    Geometry {
        name: 'B',
        size: [448, 260, 35],
        spacing_mm: [0.8, 0.8, 5.0],
        tissue: Tissue::Pelvis,
    },
    Geometry {
        name: 'C',
        size: [499, 292, 103],
        spacing_mm: [0.9, 0.9, 3.0],
        tissue: Tissue::HeadAndNeck,
    },
    Geometry {
        name: 'D',
        size: [308, 190, 56],
        spacing_mm: [0.9, 0.9, 3.0],
        tissue: Tissue::Pelvis,
    },
];

/// Table III: name, resampling factor in the plane, gantry and table angle in degrees.
#[derive(Clone, Copy, Debug)]
pub struct TestCase {
    pub name: &'static str,
    pub resampling: usize,
    pub gantry_deg: f64,
    pub table_deg: f64,
}

pub const CASES: [TestCase; 5] = [
    TestCase {
        name: "I",
        resampling: 1,
        gantry_deg: 0.0,
        table_deg: 0.0,
    },
    TestCase {
        name: "II",
        resampling: 2,
        gantry_deg: 45.0,
        table_deg: 0.0,
    },
    TestCase {
        name: "III",
        resampling: 4,
        gantry_deg: 90.0,
        table_deg: 0.0,
    },
    TestCase {
        name: "IV",
        resampling: 4,
        gantry_deg: 270.0,
        table_deg: 0.0,
    },
    TestCase {
        name: "V",
        resampling: 1,
        gantry_deg: 90.0,
        table_deg: 90.0,
    },
];

impl TestCase {
    /// 1 m from the middle of the geometry, patient head first supine.
    pub fn source_mm(&self, isocentre_mm: DVec3) -> DVec3 {
        let hfs = PatientPosition::Hfs;
        BeamFrame::new(
            hfs,
            self.gantry_deg,
            0.0,
            self.table_deg,
            isocentre_mm,
            1000.0,
        )
        .source_mm
    }
}

impl Geometry {
    /// Relative electron density. As the paper resamples, a voxel takes the value of the first of those it stands for.
    pub fn density(&self, resampling: usize) -> Volume<f32> {
        let [dx, dy, dz] = self.spacing_mm;
        let size = [
            self.size[0] / resampling,
            self.size[1] / resampling,
            self.size[2],
        ];
        let factor = resampling as f64;
        let half = DVec3::from(self.size.map(|n| n as f64)) * DVec3::from(self.spacing_mm) * 0.5;
        let first = DVec3::new(0.5 * factor * dx, 0.5 * factor * dy, 0.5 * dz) - half;
        let grid = Grid::axis_aligned(first, DVec3::new(factor * dx, factor * dy, dz), size)
            .expect("a valid grid");
        let mut random = Random::new(u64::from(u32::from(self.name)));
        let mut data = Vec::with_capacity(grid.len());
        for k in 0..size[2] {
            for j in 0..size[1] {
                for i in 0..size[0] {
                    let voxel = DVec3::new(
                        (i * resampling) as f64 + 0.5,
                        (j * resampling) as f64 + 0.5,
                        k as f64 + 0.5,
                    );
                    let p = (voxel * DVec3::from(self.spacing_mm) - half) / half;
                    let clean = self.tissue.density(p);
                    // Noise of the order of a planning CT's: 3 % of water.
                    let noisy = clean * (1.0 + 0.1 * (random.unit() - 0.5));
                    data.push(if self.tissue == Tissue::Water {
                        clean
                    } else {
                        noisy
                    } as f32);
                }
            }
        }
        Volume::new(Arc::new(grid), data)
    }
}

impl Tissue {
    /// At a place in the bounding box, -1 to 1 along each axis (x left, y posterior, z towards the head).
    fn density(self, p: DVec3) -> f64 {
        let within = |x: f64, y: f64, rx: f64, ry: f64| {
            ((p.x - x) / rx).powi(2) + ((p.y - y) / ry).powi(2) < 1.0
        };
        match self {
            Self::Water => 1.0,
            Self::Pelvis if !within(0.0, 0.0, 1.0, 1.0) => 0.0,
            Self::Pelvis => {
                let hip = within(0.55, 0.1, 0.16, 0.3) || within(-0.55, 0.1, 0.16, 0.3);
                let sacrum = within(0.0, 0.65, 0.2, 0.15);
                let rectum = within(0.03, 0.4, 0.07, 0.09);
                let muscle = within(0.0, 0.0, 0.88, 0.8);
                if rectum {
                    0.001
                } else if hip || sacrum {
                    1.5
                } else if muscle {
                    1.04
                } else {
                    0.93
                }
            }
            Self::HeadAndNeck => {
                let shoulders = p.z < -0.4 && within(0.0, 0.1, 1.0, 0.8);
                let neck = within(0.0, 0.1, 0.28, 0.5);
                let head = p.z > -0.1 && within(0.0, 0.0, 0.42, 0.98);
                if !(shoulders || neck || head) {
                    return 0.0;
                }
                let spine = within(0.0, 0.35, 0.06, 0.12);
                let skull = p.z > 0.3 && !within(0.0, 0.0, 0.39, 0.91);
                let jaw =
                    p.z.abs() < 0.1 && within(0.0, -0.6, 0.2, 0.2) && !within(0.0, -0.5, 0.15, 0.2);
                let airway = within(0.0, -0.1, 0.04, 0.07);
                if airway {
                    0.0
                } else if spine || skull || jaw {
                    1.6
                } else {
                    1.02
                }
            }
        }
    }
}
