//! A fluence as numbers, for devices that evaluate it by themselves.

use super::beamlets::Line;
use super::{BeamletFluence, Fluence, Opening};
use crate::focal::MeanMap;
use crate::{Electrons, ExtraFocal};

/// Everything that [`Fluence::at`] and [`Fluence::electrons_at`] read.
#[derive(Clone, Debug)]
pub struct FluenceTables<'a> {
    pub sad_mm: f64,
    pub focal_sigma_mm: [f64; 2],
    pub jaw_distance_mm: [f64; 2],
    pub jaw_transmission: f64,
    pub extra_focal: Option<ExtraFocal>,
    pub electrons: Option<Electrons>,
    /// Off-axis factor at whole mm from the axis.
    pub horn: &'a [f64],
    /// Openings: the middle places of their edges along x and along y, the weight, and how far each edge travels.
    pub openings: Vec<[f64; 9]>,
    pub leaves: Option<LeafTables<'a>>,
    pub scale: f64,
    pub electron_scale: f64,
}

/// Transmission of leaves and jaws, as pictures.
#[derive(Clone, Debug)]
pub struct LeafTables<'a> {
    /// Leaves travel along y: u is y.
    pub along_y: bool,
    pub distance_mm: f64,
    /// Sums of pixels, one more than there are pixels along each axis.
    pub focal: Picture<'a, f64>,
    /// Planes one behind the other.
    pub scattered: Option<Picture<'a, f32>>,
    pub electrons: Option<Picture<'a, f64>>,
}

/// Values over the isocentre plane, u fastest.
#[derive(Clone, Debug)]
pub struct Picture<'a, T> {
    /// Centre of the first pixel.
    pub first_mm: [f64; 2],
    pub step_mm: f64,
    pub size: [usize; 2],
    pub parts: Vec<&'a [T]>,
}

/// The columns of a map, or its rows: the share of the focal fluence that shines through each, by place along the axis.
#[derive(Clone, Debug)]
pub struct SpanTables<'a> {
    /// Centre of the first pixel of all profiles, mm at the isocentre plane.
    pub first_mm: f64,
    pub step_mm: f64,
    /// Pixels of a profile.
    pub pixels: usize,
    /// How far beyond its sides a span shines, mm.
    pub blur_mm: f64,
    pub sides_mm: &'a [[f64; 2]],
    /// Sums of the pixels before each side of a pixel, of each span.
    pub sums: Vec<&'a [f64]>,
}

/// Both lines of a map as the wide sources see them: profiles of electrons, empty where the machine has none, and the jaws.
#[derive(Clone, Debug)]
pub struct WideTables<'a> {
    pub electrons: SpanTables<'a>,
    /// mm at the isocentre plane.
    pub jaws_mm: [f64; 2],
    pub jaw_distance_mm: f64,
}

impl Line {
    fn tables<'a>(&'a self, profiles: &'a [MeanMap]) -> SpanTables<'a> {
        let raster = profiles.first().map(MeanMap::raster);
        let pixels = raster.map_or(0, |raster| raster.size[0]);
        SpanTables {
            first_mm: raster.map_or(0.0, |raster| raster.first_mm[0]),
            step_mm: raster.map_or(1.0, |raster| raster.step_mm),
            pixels,
            blur_mm: self.blur_mm,
            sides_mm: &self.sides_mm,
            // A profile is a picture of one row, whose table of sums begins with a row of zeros.
            sums: profiles
                .iter()
                .map(|map| &map.sums()[pixels + 1..])
                .collect(),
        }
    }
}

impl BeamletFluence {
    /// Columns along u, then rows along v: what [`Self::focal_at`] reads.
    pub fn spans(&self) -> [SpanTables<'_>; 2] {
        [0, 1].map(|axis| self.lines[axis].tables(&self.lines[axis].focal))
    }

    /// The same for [`Self::extra_focal_at`] and [`Self::electrons_at`].
    pub fn wide_spans(&self) -> [WideTables<'_>; 2] {
        [0, 1].map(|axis| {
            let line = &self.lines[axis];
            let electrons = line.tables(&line.electrons);
            WideTables {
                electrons,
                jaws_mm: line.jaws_mm,
                jaw_distance_mm: line.jaw_distance_mm,
            }
        })
    }

    /// Focal fluence of the open machine on its axis.
    pub fn open_focal(&self) -> f64 {
        self.scale * (1.0 - self.optics.extra_focal.map_or(0.0, |extra| extra.share))
    }
}

impl Fluence {
    /// The numbers behind it.
    pub fn tables(&self) -> FluenceTables<'_> {
        let optics = &self.optics;
        let sums = |map: &'_ MeanMap| -> ([f64; 2], f64, [usize; 2]) {
            let raster = map.raster();
            (raster.first_mm, raster.step_mm, raster.size)
        };
        let leaves = self.through_leaves.as_ref().map(|t| {
            let (first_mm, step_mm, size) = sums(&t.focal);
            let electrons = t.electrons.as_ref().map(|map| {
                let (first_mm, step_mm, size) = sums(map);
                Picture {
                    first_mm,
                    step_mm,
                    size,
                    parts: vec![map.sums()],
                }
            });
            let scattered = t.scattered.as_ref().map(|map| {
                let raster = map.raster();
                let parts = map.planes().iter().map(Vec::as_slice).collect();
                Picture {
                    first_mm: raster.first_mm,
                    step_mm: raster.step_mm,
                    size: raster.size,
                    parts,
                }
            });
            LeafTables {
                along_y: t.along_y,
                distance_mm: t.leaf_distance_mm,
                focal: Picture {
                    first_mm,
                    step_mm,
                    size,
                    parts: vec![t.focal.sums()],
                },
                scattered,
                electrons,
            }
        });
        FluenceTables {
            sad_mm: optics.sad_mm,
            focal_sigma_mm: optics.focal_sigma_mm,
            jaw_distance_mm: optics.jaw_distance_mm,
            jaw_transmission: optics.jaw_transmission,
            extra_focal: optics.extra_focal,
            electrons: optics.electrons,
            horn: &optics.horn,
            openings: self.openings.iter().map(numbers_of).collect(),
            leaves,
            scale: self.scale,
            electron_scale: self.electron_scale,
        }
    }
}

fn numbers_of(o: &Opening) -> [f64; 9] {
    let [a, b, c, d] = [o.x[0], o.x[1], o.y[0], o.y[1]].map(|edge| edge.middle_mm);
    let [e, f, g, h] = [o.x[0], o.x[1], o.y[0], o.y[1]].map(|edge| edge.travel_mm.abs());
    [a, b, c, d, o.weight, e, f, g, h]
}
