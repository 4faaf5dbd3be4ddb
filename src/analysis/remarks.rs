//! Remarks on a beam: where plan and machine differ, and values that cannot be meant.

use super::attenuators::{accessory_caveats, accessory_remarks};
use super::beam_job::is_computed;
use super::caveat::FLUENCE_CAVEAT;
use case::{Beam, DoseStatus, Plan};
use physics::{BeyondEnd, BeyondTable, HuTable, Machine, SOFT_TISSUE_HU};

/// More monitor units than any beam is delivered with.
pub const MOST_MU: f64 = 100_000.0;

/// A beam and a machine of nominal energies further apart than this are not the same quality, MV.
const SAME_ENERGY_MV: f64 = 0.5;

/// Leaf sides that differ by no more than this are the same, mm at the isocentre.
const SAME_SIDE_MM: f64 = 0.05;

/// HU beyond the table in less of the patient than this make no caveat of a dose, cm3: a cube of 4.6 mm. Noise and the rims of fillings
/// have them in many a CT.
const LEAST_BEYOND_CM3: f64 = 0.1;

/// Remarks on computing `beam` with `machine`, a sentence each; empty where plan and machine agree.
pub fn beam_remarks(beam: &Beam, machine: &Machine) -> Vec<String> {
    let mut remarks: Vec<String> = most_mu_remark(beam).into_iter().collect();
    if let Some(mv) = other_energy_mv(beam, machine) {
        remarks.push(format!(
            "the plan asks for {mv} MV and is computed with {} ({} MV): choose a machine of its energy",
            machine.name, machine.nominal_mv
        ));
    }
    if lacks_filter(beam, machine) {
        remarks.push(format!(
            "the plan asks for a beam without flattening filter and is computed with {}, which has one: off the axis \
             its dose is too high; choose or write a machine without the filter",
            machine.name
        ));
    }
    // Plans without a word for the filter count as flattened: that is no caveat.
    if !beam.unflattened && beam.energy_mv.is_some() && machine.is_flattened() == Some(false) {
        remarks.push(format!(
            "the plan does not say that its beam is without flattening filter, and it is computed with {}, which has none: \
             if it has one, its dose off the axis is too low; choose or write a machine with the filter",
            machine.name
        ));
    }
    remarks.extend(leaf_remark(beam, machine));
    remarks.extend(accessory_remarks(beam, machine));
    let said = |what: &str, sentences: &[String]| {
        (!sentences.is_empty()).then(|| {
            format!(
                "the machine {} {what}: {}",
                machine.name,
                sentences.join("; ")
            )
        })
    };
    remarks.extend(said("calls itself NOT fitted", &machine.not_fitted));
    remarks.extend(said(
        "does not give the data that it was fitted to within tolerance",
        &machine.outside_tolerance,
    ));
    remarks
}

/// The remark on HU beyond one end of a table.
fn beyond_remark(
    end: Option<BeyondEnd>,
    above: bool,
    table: &HuTable,
    place: &str,
) -> Option<String> {
    let BeyondEnd {
        voxels,
        cm3,
        farthest_hu,
    } = end?;
    let (end_hu, as_density) = end_of(table, above);
    let [than, reach, ends] = if above {
        ["above", "up to", "ends"]
    } else {
        ["below", "down to", "begins"]
    };
    Some(format!(
        "{voxels} voxel{s} {place} ({cm3:.2} cm3) with HU {than} those of the HU table {name}, which {ends} at {end_hu} HU: {reach} \
  {farthest_hu:.0} HU, all count as {as_density} g/cm3; take a table that reaches as far, or give their structure its density",
        name = table.name,
        s = if voxels == 1 { "" } else { "s" },
    ))
}

/// Remarks on HU that count as the first or the last entry of a table; `place` is where they were looked for.
pub fn hu_remarks(beyond: &BeyondTable, table: &HuTable, place: &str) -> Vec<String> {
    [
        beyond_remark(beyond.below, false, table, place),
        beyond_remark(beyond.above, true, table, place),
        { beyond.too_light }.map(|light| too_light_remark(light, table, place)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn too_light_remark(light: BeyondEnd, table: &HuTable, place: &str) -> String {
    let BeyondEnd {
        voxels,
        cm3,
        farthest_hu,
    } = light;
    format!(
        "{voxels} voxels {place} ({cm3:.2} cm3) scanned as soft tissue, {SOFT_TISSUE_HU} to {farthest_hu:.0} HU, are gas by the HU \
         table {}: CT and table do not belong together; take the table of this scanner",
        table.name
    )
}

/// The caveat of HU beyond one end of a table.
fn beyond_caveat(end: Option<BeyondEnd>, above: bool, table: &HuTable) -> Option<String> {
    let BeyondEnd { cm3, .. } = end.filter(|end| end.cm3 >= LEAST_BEYOND_CM3)?;
    let (end_hu, as_density) = end_of(table, above);
    Some(format!(
        "{cm3:.1} cm3 {} {end_hu} HU as {as_density} g/cm3",
        if above { "above" } else { "below" }
    ))
}

/// The caveats of every dose in such a patient, a few words each.
pub(super) fn hu_caveats(beyond: &BeyondTable, table: &HuTable) -> Vec<String> {
    let too_light = { beyond.too_light }
        .filter(|light| light.cm3 >= LEAST_BEYOND_CM3)
        .map(|light| format!("{:.1} cm3 of soft tissue as gas", light.cm3));
    [
        beyond_caveat(beyond.below, false, table),
        beyond_caveat(beyond.above, true, table),
        too_light,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// An end of a table: its HU, and its mass density in words.
fn end_of(table: &HuTable, above: bool) -> (f64, String) {
    let end_hu = table.ends_hu()[usize::from(above)];
    (
        end_hu,
        format!("{:.2}", table.at(end_hu as f32).mass_density_g_cm3),
    )
}

/// The best status of a dose with these caveats.
pub(super) fn status_with(caveats: &[String]) -> DoseStatus {
    if caveats.is_empty() {
        DoseStatus::Final
    } else {
        DoseStatus::Partial
    }
}

/// The remark on monitor units that cannot be meant.
pub fn most_mu_remark(beam: &Beam) -> Option<String> {
    (beam.mu > MOST_MU).then(|| {
        let mu = beam.mu;
        format!(
            "{mu:.3e} MU in one fraction is more than any machine delivers: correct the monitor units"
        )
    })
}

/// Features of `beam` that are not computed with `machine`, a few words each: caveats of its dose.
pub fn beam_caveats(beam: &Beam, machine: &Machine) -> Vec<String> {
    let energy =
        other_energy_mv(beam, machine).map(|mv| format!("{mv} MV as {} MV", machine.nominal_mv));
    let filter = lacks_filter(beam, machine).then(|| "a filter it does not have".to_owned());
    let fluence = beam.fluence.is_some().then(|| FLUENCE_CAVEAT.to_owned());
    let unfitted =
        (!machine.not_fitted.is_empty()).then(|| format!("machine {} NOT fitted", machine.name));
    let of_beam = beam
        .not_modelled
        .iter()
        .cloned()
        .chain(accessory_caveats(beam, machine));
    of_beam
        .chain(energy)
        .chain(filter)
        .chain(fluence)
        .chain(unfitted)
        .collect()
}

/// The plan's energy where it is not the machine's.
fn other_energy_mv(beam: &Beam, machine: &Machine) -> Option<f64> {
    beam.energy_mv
        .filter(|mv| (mv - machine.nominal_mv).abs() > SAME_ENERGY_MV)
}

/// Whether a beam without flattening filter is computed with one.
fn lacks_filter(beam: &Beam, machine: &Machine) -> bool {
    beam.unflattened && machine.is_flattened() == Some(true)
}

/// Remarks on treatment machines that shipped ones stand for, each once: those are models of no machine in particular, and output, profiles
/// and leaves of the one that treats are others.
pub fn generic_machines(plan: &Plan) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for beam in plan.beams.iter().filter(|beam| is_computed(beam)) {
        let model = plan.machine_of(beam);
        let Some(treating) = beam
            .treatment_machine
            .as_ref()
            .filter(|_| Machine::is_shipped(model))
        else {
            continue;
        };
        let remark = format!(
            "the treatment machine '{treating}' of the plan is computed with the generic {model}: choose or fit a machine file of its own"
        );
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}

/// The engine uses the plan's leaf sides with the machine's leaf ends and transmission.
fn leaf_remark(beam: &Beam, machine: &Machine) -> Option<String> {
    let (mlc, leaves) = (beam.mlc.as_ref()?, machine.leaves.as_ref()?);
    let (plan_mm, machine_mm) = (&mlc.boundaries_mm, &leaves.boundaries_mm);
    let same = plan_mm.len() == machine_mm.len()
        && plan_mm
            .iter()
            .zip(machine_mm)
            .all(|(a, b)| (a - b).abs() <= SAME_SIDE_MM);
    (!same).then(|| {
        format!(
            "the plan's {} leaf pairs do not have the sides of the machine's {} ({} pairs): the plan's sides are used, \
             with the machine's leaf ends and transmission",
            plan_mm.len().saturating_sub(1),
            leaves.name,
            machine_mm.len().saturating_sub(1)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Jaws, Mlc, MlcAxis};
    use glam::DVec3;

    fn beam() -> Beam {
        Beam::fixed(
            "B",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(100.0, 100.0),
            100.0,
        )
    }

    #[test]
    fn a_beam_of_its_machine_needs_no_words() {
        for name in Machine::shipped() {
            let machine = Machine::resolve(&name).unwrap();
            let mut beam = Beam {
                energy_mv: Some(machine.nominal_mv),
                ..beam()
            };
            beam.mlc = machine.leaves.as_ref().map(|l| l.to_case());
            beam.unflattened = name.contains("fff");
            assert_eq!(
                beam_remarks(&beam, &machine),
                Vec::<String>::new(),
                "{name}"
            );
            assert_eq!(
                beam_caveats(&beam, &machine),
                Vec::<String>::new(),
                "{name}"
            );
        }
    }

    #[test]
    fn what_differs_is_said() {
        let ten = Machine::resolve("generic-10mv").unwrap();
        let said = |beam: Beam| beam_remarks(&beam, &ten).join("; ");
        let flat = Beam {
            energy_mv: Some(10.0),
            ..beam()
        };
        assert_eq!(said(flat.clone()), "");
        assert!(
            said(Beam {
                unflattened: true,
                ..flat.clone()
            })
            .contains("without flattening filter")
        );
        assert!(
            said(Beam {
                energy_mv: Some(18.0),
                ..flat.clone()
            })
            .contains("18 MV")
        );
        // The other way round it may only be unsaid; a plan that states no energy states nothing.
        let bare = Machine::resolve("generic-6mv-fff").unwrap();
        let flattened = Beam {
            energy_mv: Some(6.0),
            ..beam()
        };
        assert!(
            beam_remarks(&flattened, &bare)
                .join("; ")
                .contains("which has none")
        );
        assert_eq!(
            (
                beam_caveats(&flattened, &bare),
                beam_remarks(&beam(), &bare)
            ),
            (Vec::new(), Vec::new())
        );
        let not_modelled = vec!["bolus".to_owned()];
        let other = Beam {
            energy_mv: Some(18.0),
            unflattened: true,
            not_modelled,
            ..flat.clone()
        };
        assert_eq!(
            beam_caveats(&other, &ten),
            ["bolus", "18 MV as 10 MV", "a filter it does not have"]
        );
        assert!(
            said(Beam {
                mu: 1e12,
                ..flat.clone()
            })
            .contains("1.000e12 MU")
        );
        let boundaries_mm = (0..=10).map(|n| f64::from(n) * 10.0 - 50.0).collect();
        let other = Beam {
            mlc: Some(Mlc {
                axis: MlcAxis::X,
                boundaries_mm,
            }),
            ..flat
        };
        assert!(said(other).contains("10 leaf pairs"));
    }

    #[test]
    fn a_machine_that_is_not_fitted_says_so_with_every_dose() {
        let machine = (*Machine::resolve("generic-6mv").unwrap()).clone();
        let not_fitted = vec!["focal-x stopped at 0.2".to_owned()];
        let unfitted = Machine {
            not_fitted,
            ..machine.clone()
        };
        assert_eq!(
            beam_caveats(&beam(), &unfitted),
            ["machine generic-6mv NOT fitted"]
        );
        let remarks = beam_remarks(&beam(), &unfitted).join("; ");
        assert!(
            remarks.contains("calls itself NOT fitted: focal-x stopped at 0.2"),
            "{remarks}"
        );
        // Data that it misses are told, and are no caveat: tolerances differ.
        let off = Machine {
            outside_tolerance: vec!["depth dose 60: 4 of 30 points".to_owned()],
            ..machine
        };
        assert_eq!(beam_caveats(&beam(), &off), Vec::<String>::new());
        assert!(beam_remarks(&beam(), &off)[0].contains("4 of 30 points"));
    }
}
