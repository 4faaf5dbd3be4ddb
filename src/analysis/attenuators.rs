//! Remarks on trays and couch: whether a dose counts them by the factors of its machine file.

use super::caveat::way_out;
use case::Beam;
use physics::{Machine, Patient, turns_couch};

/// Accessories of a beam that its machine file has no factor for, a few words each: caveats of its dose.
pub fn accessory_caveats(beam: &Beam, machine: &Machine) -> Vec<String> {
    let without = machine
        .accessory_factors(beam)
        .filter(|(_, factor)| factor.is_none());
    without.map(|(id, _)| format!("accessory '{id}'")).collect()
}

/// Remarks on a beam's accessories, a sentence each.
pub(super) fn accessory_remarks(beam: &Beam, machine: &Machine) -> Vec<String> {
    machine
        .accessory_factors(beam)
        .map(|(id, factor)| match factor {
            Some(factor) => format!(
                "the tray '{id}' is counted by its factor {factor:.3} of the machine file {}",
                machine.name
            ),
            None => {
                let caveat = format!("accessory '{id}'");
                format!("the {caveat} is not counted: {}", way_out(&caveat))
            }
        })
        .collect()
}

/// The remark on a couch that the machine file has a factor for; `None` where the beam does not come through it.
pub(super) fn couch_remark(beam: &Beam, machine: &Machine, patient: &Patient) -> Option<String> {
    let couch = machine.couch.as_ref()?;
    let factor = format!(
        "factor {:.3} of the machine file {}",
        couch.factor, machine.name
    );
    let percent = 100.0 * couch.part_of_beam(beam);
    if patient.has_couch {
        return (percent > 0.0).then(|| {
            format!(
                "the couch is not counted by the {factor}: a support with a density counts, or all that the CT shows, and twice would \
                 be too much"
            )
        });
    }
    if turns_couch(beam) {
        return Some(format!(
            "the couch is not counted by the {factor} where it is turned: the factor's gantry angles are those of a couch at 0 degrees; \
             draw the couch as a support with a density instead"
        ));
    }
    (percent > 0.0).then(|| {
        format!("the couch is counted by the {factor}, for {percent:.0} % of the monitor units")
    })
}

#[cfg(test)]
mod tests {
    use super::super::beam_caveats;
    use super::super::beam_job::Ready;
    use super::super::given::DensityOverrides;
    use super::super::{Body, BodyChoice};
    use super::*;
    use case::{
        Contour, Contours, Ct, Density, DensityOverride, Jaws, Structure, StructureKind,
        StructureSet,
    };
    use engine::JobControl;
    use geometry::{Grid, PatientPosition, Volume};
    use glam::DVec3;
    use physics::{CouchFactor, HuTable};
    use std::sync::Arc;

    fn machine() -> Machine {
        let mut machine = (*Machine::resolve("generic-6mv").unwrap()).clone();
        machine.trays.insert("T1".to_owned(), 0.97);
        machine.couch = Some(CouchFactor {
            factor: 0.975,
            gantry_deg: vec![[110.0, 250.0]],
        });
        machine
    }

    fn beam(gantry_deg: f64, accessories: &[&str]) -> Beam {
        let accessories = accessories.iter().map(|id| (*id).to_owned()).collect();
        Beam {
            accessories,
            ..Beam::fixed(
                "B",
                1,
                gantry_deg,
                DVec3::ZERO,
                Jaws::symmetric(100.0, 100.0),
                100.0,
            )
        }
    }

    #[test]
    fn an_accessory_is_a_caveat_until_its_machine_has_a_factor() {
        let (machine, beam) = (machine(), beam(0.0, &["T1", "T2"]));
        assert_eq!(beam_caveats(&beam, &machine), ["accessory 'T2'"]);
        let [counted, not_counted] = accessory_remarks(&beam, &machine).try_into().unwrap();
        assert_eq!(
            counted,
            "the tray 'T1' is counted by its factor 0.970 of the machine file generic-6mv"
        );
        assert!(
            not_counted.contains("'T2' is not counted") && not_counted.contains("[trays]"),
            "{not_counted}"
        );
        let shipped = Machine::resolve("generic-6mv").unwrap();
        assert_eq!(
            beam_caveats(&beam, &shipped),
            ["accessory 'T1'", "accessory 'T2'"]
        );
    }

    /// A plate of 40 x 10 mm about a height, from plane to plane of 5 mm.
    fn plate(y_mm: f64) -> Contours {
        (0..9)
            .map(|plane: i32| {
                let z = 5.0 * f64::from(plane) - 20.0;
                let corners = [[-20.0, -5.0], [20.0, -5.0], [20.0, 5.0], [-20.0, 5.0]];
                Contour {
                    points_mm: corners.map(|[x, y]| DVec3::new(x, y + y_mm, z)).to_vec(),
                    image_uid: None,
                }
            })
            .collect()
    }

    /// A box of water as body, and below it a support of some density.
    fn patient(choice: BodyChoice, support: Option<DensityOverride>) -> Arc<Patient> {
        let grid = Grid::axis_aligned(
            DVec3::new(-40.0, -40.0, -20.0),
            DVec3::splat(5.0),
            [17, 17, 9],
        )
        .unwrap();
        let grid = Arc::new(grid);
        let ct = Ct::unnamed(
            Arc::new(Volume::new(Arc::clone(&grid), vec![0.0; grid.len()])),
            PatientPosition::Hfs,
        );
        let mut set = StructureSet::default();
        let body = Structure::new("Body", 1, StructureKind::External);
        let couch = Structure::new("Couch", 2, StructureKind::Support);
        set.structures.push(Structure {
            contours: plate(0.0),
            ..body
        });
        set.structures.push(Structure {
            contours: plate(20.0),
            density: support,
            ..couch
        });
        let (table, control) = (HuTable::shipped_default(), JobControl::new());
        let body = Body::new(&ct, &set, choice, &control).unwrap();
        let overrides = DensityOverrides::new(&ct, &set, &table, &control).unwrap();
        Arc::clone(Ready::new(&ct, &table, body, overrides).unwrap().patient())
    }

    #[test]
    fn a_couch_counts_once() {
        let density = |mass: f64| {
            Some(DensityOverride {
                density: Density::MassGCm3(mass),
                medium: None,
                off: false,
            })
        };
        let off = density(1.6).map(|density| DensityOverride {
            off: true,
            ..density
        });
        for (choice, support, has_couch) in [
            (BodyChoice::Drawn, None, false),
            (BodyChoice::Drawn, off, false),
            // A couch of the CT that was left out.
            (BodyChoice::Drawn, density(0.0012), false),
            (BodyChoice::Drawn, density(0.075), true),
            (BodyChoice::Drawn, Some(DensityOverride::AS_SCANNED), true),
            (BodyChoice::Everything, None, true),
        ] {
            let patient = patient(choice, support);
            assert_eq!(patient.has_couch, has_couch, "{choice:?} {support:?}");
            let said = couch_remark(&beam(180.0, &[]), &machine(), &patient).unwrap();
            assert_eq!(
                said.contains("is counted by the factor 0.975"),
                !has_couch,
                "{said}"
            );
            assert_eq!(couch_remark(&beam(0.0, &[]), &machine(), &patient), None);
            let mut turned = beam(180.0, &[]);
            turned.control_points[0].couch_deg = 20.0;
            let said = couch_remark(&turned, &machine(), &patient);
            assert_eq!(
                said.is_some_and(|said| said.contains("where it is turned")),
                !has_couch
            );
        }
        assert_eq!(
            couch_remark(
                &beam(180.0, &[]),
                &Machine::resolve("generic-6mv").unwrap(),
                &patient(BodyChoice::Drawn, None)
            ),
            None
        );
    }
}
