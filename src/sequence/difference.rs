//! Fluence of leaves against that of the map that they are to deliver, both by `physics::Fluence`.

use case::{Beam, FluenceMap};
use physics::{Fluence, FluenceError, Machine, exposures};

/// Places at which fluences are compared lie so far apart, mm at the isocentre plane.
const SPACING_MM: f64 = 2.5;

/// Side of the squares over which leaves are to deliver what the map does, mm: electrons and scatter blur the dose of what is finer, and
/// asked for it edges would be made steeper than rounded leaf ends are, at the price of monitor units and of all that leaks meanwhile.
const AVERAGED_MM: f64 = 15.0;

/// Fluence of leaves less that of the map, percent of the map's greatest, over the map's rectangle at the isocentre plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluenceDifference {
    pub mean_percent: f64,
    pub rms_percent: f64,
    /// The greatest, with its sign.
    pub worst_percent: f64,
}

/// Fluence of a beam from one direction times its monitor units, at the isocentre plane.
pub struct Delivered {
    fluence: Fluence,
    mu: f64,
    sad_mm: f64,
    along_y: bool,
}

impl Delivered {
    pub fn new(beam: &Beam, map: &FluenceMap, machine: &Machine) -> Result<Self, FluenceError> {
        let exposures = exposures(beam, 360.0);
        let Some(exposure) = exposures.first() else {
            return Err(FluenceError::Nothing {
                beam: beam.name.clone(),
            });
        };
        let fluence = Fluence::new(machine, beam, exposure)?;
        Ok(Self {
            fluence,
            mu: beam.mu,
            sad_mm: machine.sad_mm,
            along_y: map.axis == case::MlcAxis::Y,
        })
    }

    /// At a place along (u) and across (v) the leaves, averaged over a square, MU.
    fn at(&self, [u, v]: [f64; 2], side_mm: f64) -> f64 {
        let [x, y] = if self.along_y { [v, u] } else { [u, v] };
        self.mu * self.fluence.at(x, y, self.sad_mm, side_mm)
    }

    /// Round each beamlet of a map, in their order, MU.
    pub fn by_beamlet(&self, map: &FluenceMap) -> Vec<f64> {
        (0..map.values.len())
            .map(|beamlet| self.at(map.middle_mm(beamlet), AVERAGED_MM))
            .collect()
    }

    /// On a raster over a map's rectangle, MU.
    pub fn on_raster(&self, map: &FluenceMap) -> Vec<f64> {
        let places = map.reach_mm().map(|[low, high]| {
            let count = ((high - low) / SPACING_MM).ceil().max(1.0);
            (0..count as usize).map(move |n| low + (n as f64 + 0.5) * (high - low) / count)
        });
        let [along, across] = places;
        across
            .flat_map(|v| along.clone().map(move |u| [u, v]))
            .map(|place| self.at(place, SPACING_MM))
            .collect()
    }
}

impl Delivered {
    /// Difference from another fluence over a map's rectangle.
    pub fn less(&self, other: &Self, map: &FluenceMap) -> FluenceDifference {
        FluenceDifference::between(&self.on_raster(map), &other.on_raster(map))
    }
}

impl FluenceDifference {
    /// Difference of fluences at the same places.
    pub fn between(got: &[f64], want: &[f64]) -> Self {
        let max_fluence = want.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let percent = || {
            got.iter()
                .zip(want)
                .map(|(got, want)| 100.0 * (got - want) / max_fluence)
        };
        let count = got.len().max(1) as f64;
        Self {
            mean_percent: percent().sum::<f64>() / count,
            rms_percent: (percent().map(|off| off * off).sum::<f64>() / count).sqrt(),
            worst_percent: percent().fold(
                0.0,
                |worst, off| if off.abs() > worst.abs() { off } else { worst },
            ),
        }
    }
}
