//! Densities that a planner gives structures, in place of the CT's.

use super::{HuTable, Material, Tissue};
use case::{Density, DensityOverride, Medium};
use geometry::Mask;

/// A structure with an assigned density.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    pub mask: &'a Mask,
    /// `None`: the CT's, where at least half of the voxel lies inside, as in the body.
    pub tissue: Option<Tissue>,
    /// Whether it counts outside the body, too: a bolus, a couch.
    pub is_beside_patient: bool,
}

impl HuTable {
    /// The tissue of a given density; `None` where that is the CT's. Without a medium its atoms are those that the table has
    /// at that density.
    pub fn of_density(&self, density_override: &DensityOverride) -> Option<Tissue> {
        let value = density_override.density.value()?;
        let material = match density_override.medium {
            Some(Medium::Air) => Material::Air,
            Some(Medium::Lung) => Material::Lung,
            Some(Medium::Water) => Material::Water,
            Some(Medium::Bone) => Material::CorticalBone,
            Some(Medium::Titanium) => Material::Titanium,
            None => {
                self.at(self.hu_of(density_override.density, value))
                    .material
            }
        };
        let per_gram = material.electrons_per_gram();
        let (mass, electrons) = match density_override.density {
            Density::RelativeElectrons(electrons) => (electrons / per_gram, electrons),
            Density::MassGCm3(_) | Density::AsScanned => (value, value * per_gram),
        };
        Some(Tissue {
            mass_density_g_cm3: mass as f32,
            relative_electron_density: electrons as f32,
            material,
        })
    }

    /// The HU of a density; the last ones beyond the table.
    fn hu_of(&self, density: Density, value: f64) -> f32 {
        let column = if matches!(density, Density::RelativeElectrons(_)) {
            2
        } else {
            1
        };
        let points = self.points();
        let above = points.partition_point(|p| p[column] < value);
        let [high, low] = [
            points.get(above),
            above.checked_sub(1).and_then(|n| points.get(n)),
        ];
        let hu = match (low, high) {
            (Some(low), Some(high)) => {
                low[0] + (high[0] - low[0]) * (value - low[column]) / (high[column] - low[column])
            }
            (Some(end), None) | (None, Some(end)) => end[0],
            (None, None) => 0.0,
        };
        hu as f32
    }
}

/// Contents of a voxel: parts of structures with densities of their own, and of the rest the CT's tissue.
pub(super) struct Mixture {
    mass: f32,
    electrons: f32,
    /// The material of the largest share of the mass.
    material: (f32, Material),
    /// Share of the volume that nothing fills yet.
    left: f32,
}

impl Mixture {
    /// Structures in a voxel; of two in one place the later one of the list counts.
    pub(super) fn in_voxel(overrides: &[Given<'_>], [i, j, k]: [usize; 3], in_body: bool) -> Self {
        let mut mixture = Self {
            mass: 0.0,
            electrons: 0.0,
            material: (0.0, Material::Air),
            left: 1.0,
        };
        for part in overrides
            .iter()
            .rev()
            .filter(|g| in_body || g.is_beside_patient)
        {
            if let Some(tissue) = &part.tissue {
                mixture.add(part.mask.coverage_at(i, j, k), tissue);
            }
        }
        mixture
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left == 1.0
    }

    /// Share of the volume that nothing fills yet.
    pub(super) fn left(&self) -> f32 {
        self.left
    }

    /// Adds a tissue that fills at most this share of the voxel.
    pub(super) fn add(&mut self, share: f32, tissue: &Tissue) {
        let share = share.min(self.left);
        let mass = share * tissue.mass_density_g_cm3;
        self.mass += mass;
        self.electrons += share * tissue.relative_electron_density;
        self.left -= share;
        if mass > self.material.0 {
            self.material = (mass, tissue.material);
        }
    }

    pub(super) fn tissue(&self) -> Tissue {
        Tissue {
            mass_density_g_cm3: self.mass,
            relative_electron_density: self.electrons,
            material: self.material.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(density: Density, medium: Option<Medium>) -> Tissue {
        let density_override = DensityOverride {
            density,
            medium,
            off: false,
        };
        HuTable::shipped_default()
            .of_density(&density_override)
            .expect("a density of its own")
    }

    #[test]
    fn densities_have_the_electrons_of_their_medium() {
        let water = given(Density::MassGCm3(1.0), Some(Medium::Water));
        assert_eq!(
            (water.mass_density_g_cm3, water.relative_electron_density),
            (1.0, 1.0)
        );
        // Z/A of titanium is 22/47.867, of water 10/18.015.
        let metal = given(Density::MassGCm3(4.54), Some(Medium::Titanium));
        let want = 4.54 * (22.0 / 47.867) / (10.0 / 18.015);
        assert!(
            (f64::from(metal.relative_electron_density) / want - 1.0).abs() < 1e-3,
            "{metal:?}"
        );
        let electrons = given(Density::RelativeElectrons(1.44), Some(Medium::Water));
        assert_eq!(
            (
                electrons.mass_density_g_cm3,
                electrons.relative_electron_density
            ),
            (1.44, 1.44)
        );
    }

    /// The shipped table by eye: 0.3 g/cm3 at about -740 HU is lung, 1.0 at 0 HU water, 1.05 at 50 HU muscle, beyond its
    /// last point aluminium.
    #[test]
    fn a_typed_density_has_the_atoms_of_the_table() {
        for (density, want) in [
            (Density::MassGCm3(0.0), Material::Air),
            (Density::MassGCm3(0.3), Material::Lung),
            (Density::RelativeElectrons(0.3), Material::Lung),
            (Density::MassGCm3(1.0), Material::Water),
            (Density::MassGCm3(1.05), Material::Muscle),
            (Density::MassGCm3(8.0), Material::Aluminium),
        ] {
            assert_eq!(given(density, None).material, want, "{density:?}");
        }
    }
}
