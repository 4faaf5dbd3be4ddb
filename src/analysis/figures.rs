//! The figures of a plan that the window shows and the command line prints.

use super::Dvh;
use case::{Dose, DoseStatus, Plan, Structure, StructureKind, StructureSet, status_text};
use serde::Serialize;
use std::fmt;

/// The figures of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanFigures {
    pub plan: String,
    /// The status of the dose that the figures are of.
    pub status: DoseStatus,
    /// The caveats of the dose: what it does not count.
    pub caveats: Vec<String>,
    /// Greatest dose anywhere, Gy, all fractions.
    pub max_gy: f64,
    /// Monitor units per fraction of the beams that are computed.
    pub mu: f64,
    pub fractions: u32,
    pub prescription_gy: Option<f64>,
    /// `None` where there is no target or it has no DVH.
    pub target: Option<StructureFigures>,
    /// Wall time of the computation, ms, and where it ran; `None` for a dose from a file.
    pub computed: Option<(f64, String)>,
}

/// A structure's dose in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StructureFigures {
    pub name: String,
    pub volume_cm3: f64,
    pub min_gy: f64,
    pub mean_gy: f64,
    pub max_gy: f64,
    pub d98_gy: f64,
    pub d95_gy: f64,
    pub d2_gy: f64,
    pub remarks: Vec<String>,
}

impl StructureFigures {
    pub fn new(name: &str, dvh: &Dvh) -> Self {
        Self {
            name: name.to_owned(),
            volume_cm3: dvh.volume_cm3(),
            min_gy: dvh.min_gy(),
            mean_gy: dvh.mean_gy(),
            max_gy: dvh.max_gy(),
            d98_gy: dvh.dose_at_percent(98.0),
            d95_gy: dvh.dose_at_percent(95.0),
            d2_gy: dvh.dose_at_percent(2.0),
            remarks: dvh.remarks(),
        }
    }
}

impl PlanFigures {
    /// `dose` is the plan's, of all fractions; `target` the structure and its DVH in it.
    pub fn new(plan: &Plan, dose: &Dose, target: Option<(&str, &Dvh)>) -> Self {
        Self {
            plan: plan.name.clone(),
            status: dose.status,
            caveats: dose.caveats.clone(),
            max_gy: f64::from(dose.max_gy()),
            mu: super::computed_mu(plan),
            fractions: plan.fractions,
            prescription_gy: plan.prescription_gy,
            target: target.map(|(name, dvh)| StructureFigures::new(name, dvh)),
            computed: dose
                .receipt
                .as_ref()
                .map(|r| (r.total_ms(), r.device.clone())),
        }
    }
}

/// The target of a plan's figures: the structure that the plan is normalised to, else the first PTV, CTV or
/// GTV, in that order, that has contours.
pub fn target_of<'a>(plan: &Plan, set: &'a StructureSet) -> Option<&'a Structure> {
    let named = plan
        .normalisation
        .as_ref()
        .and_then(|n| set.normalised_to(n)?.ok())
        .filter(|structure| !structure.contours.is_empty());
    named.or_else(|| {
        StructureKind::TARGETS.into_iter().find_map(|kind| {
            set.structures
                .iter()
                .find(|structure| structure.kind == kind && !structure.contours.is_empty())
        })
    })
}

impl fmt::Display for PlanFigures {
    /// A few lines for people, without a line end after the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fractions = if self.fractions == 1 {
            "fraction"
        } else {
            "fractions"
        };
        write!(
            f,
            "{}: {:.1} MU, {} {fractions}, dose {}",
            self.plan,
            self.mu,
            self.fractions,
            status_text(self.status, &self.caveats)
        )?;
        if let Some(gy) = self.prescription_gy {
            write!(f, ", prescribed {gy:.2} Gy")?;
        }
        write!(f, "\n  maximum {:.2} Gy", self.max_gy)?;
        if let Some(target) = &self.target {
            write!(f, "\n  {target}")?;
        }
        if let Some((ms, device)) = &self.computed {
            write!(f, "\n  computed in {:.2} s on {device}", ms / 1000.0)?;
        }
        Ok(())
    }
}

impl fmt::Display for StructureFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            volume_cm3,
            mean_gy,
            min_gy,
            max_gy,
            d98_gy,
            d95_gy,
            d2_gy,
            ..
        } = self;
        write!(
            f,
            "{name} ({volume_cm3:.1} cm3): mean {mean_gy:.2} Gy, D95 {d95_gy:.2}, D98 {d98_gy:.2}, "
        )?;
        write!(f, "D2 {d2_gy:.2}, min {min_gy:.2}, max {max_gy:.2}")?;
        self.remarks
            .iter()
            .try_for_each(|remark| write!(f, "; {remark}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Contour, Normalisation};
    use glam::DVec3;

    fn structure(name: &str, kind: StructureKind, drawn: bool) -> Structure {
        let contour = Contour {
            points_mm: vec![DVec3::ZERO; 3],
            image_uid: None,
        };
        let contours = if drawn { vec![contour] } else { Vec::new() }.into();
        Structure {
            contours,
            ..Structure::new(name, 1, kind)
        }
    }

    #[test]
    fn the_target_is_the_normalised_one_or_the_first_that_is_drawn() {
        let structures = vec![
            structure("GTV", StructureKind::Gtv, true),
            structure("empty PTV", StructureKind::Ptv, false),
            structure("PTV 1", StructureKind::Ptv, true),
            structure("PTV 2", StructureKind::Ptv, true),
        ];
        let set = StructureSet {
            structures,
            ..StructureSet::default()
        };
        let mut plan = Plan::new("P", "generic-6mv");
        let target = |plan: &Plan| target_of(plan, &set).map(|s| s.name.clone());
        assert_eq!(target(&plan).as_deref(), Some("PTV 1"));
        let to = |name: &str| Normalisation::to_named(name, 95.0, 60.0);
        plan.normalisation = Some(to("ptv 2"));
        assert_eq!(target(&plan).as_deref(), Some("PTV 2"));
        plan.normalisation = Some(to("empty PTV"));
        assert_eq!(target(&plan).as_deref(), Some("PTV 1"));
        assert!(target_of(&plan, &StructureSet::default()).is_none());
    }
}
