//! Apertures: fitted, shielded, moved by hand.

use crate::feature::beam::command::ApertureAction;
use crate::feature::beam::jobs::{Apertures, Fitted, hull_of};
use crate::jobs::{JobAnswer, Requests};
use crate::state::slot::Slot;
use crate::state::{NoticeKind, State};
use analysis::{AperturePart, FitSettings, brushed, fitted, move_part, segment_of, with_leaves};
use case::{Beam, ControlPoint, Edit, FluenceStroke, Mlc, Plan, Structure, StructureKind};
use physics::Machine;
use std::sync::Arc;
use worker::Task;

/// Identity of a brush stroke or drag in the beam's-eye view among the gestures.
const STROKE: u64 = 0x6c65_6166;

/// As [`STROKE`], of the brush that bounds fluence.
const LIMITS: u64 = 0x6c69_6d69;

impl Requests<'_> {
    pub fn aperture(&mut self, action: ApertureAction) {
        let state = &mut *self.state;
        match action {
            ApertureAction::Set(aperture) => state.aperture = aperture,
            ApertureAction::Show { beam, point, plays } => {
                state.aperture.point = (beam, point);
                state.aperture.plays = plays;
            }
            ApertureAction::Move {
                beam,
                part,
                to_mm,
                gesture,
            } => {
                let is_jaw = matches!(part, AperturePart::Jaw { .. });
                state.change_points(beam, is_jaw, gesture, |point, _| {
                    move_part(point, part, to_mm)
                });
            }
            ApertureAction::Brush {
                beam,
                bank,
                from_mm,
                to_mm,
            } => {
                state.change_points(beam, false, Some(STROKE), |point, mlc| {
                    if let Some(mlc) = mlc {
                        brushed(point, mlc, bank, from_mm, to_mm);
                    }
                });
            }
            ApertureAction::Limit {
                beam,
                from_mm,
                to_mm,
            } => {
                let brush = state.aperture.limits;
                let radius_mm = 0.5 * brush.diameter_mm;
                let stroke = FluenceStroke {
                    from_mm,
                    to_mm,
                    radius_mm,
                    percent: brush.bound(),
                };
                state.limit_fluence(beam, Some(LIMITS), |beam| beam.brush_fluence(&stroke));
            }
            ApertureAction::ClearLimits(beam) => {
                state.limit_fluence(beam, None, |beam| beam.fluence_limits.clear());
            }
            ApertureAction::Fit(only) => self.set_apertures(only, false),
            ApertureAction::Shield(only) => self.set_apertures(only, true),
            ApertureAction::Refit => self.refit(None),
        }
    }

    /// Fits apertures again, as part of the same step, after a step that moved their target or their beam; if the fit takes longer
    /// than a frame, it waits for the user.
    pub fn follow_apertures(&mut self) {
        if self.state.aperture.follows {
            let gesture = self.state.history.gesture();
            if gesture.is_some() {
                self.refit(gesture);
            }
        }
    }

    /// Fits each beam again that no longer fits, to the structure and with the margin that it was fitted with. `joins` is the gesture
    /// of the step that the refit is part of; a fit that takes longer than a frame is then skipped.
    fn refit(&mut self, joins: Option<u64>) {
        let mut left = self.state.misfits();
        while let (Some(first), Some(plan)) = (left.first().copied(), self.state.plan().cloned()) {
            let state = &*self.state;
            let Some(fit) = state.lost_fit(&plan.beams[first]) else {
                return;
            };
            let (same, others): (Vec<usize>, Vec<usize>) = left
                .iter()
                .partition(|n| state.lost_fit(&plan.beams[**n]) == Some(fit));
            let Some(structure) = state.case().structures.by_number(fit.0).cloned() else {
                return;
            };
            let work = self.apertures(&plan, same, structure, fit.1, false);
            match joins {
                Some(_) if !work.is_quick() => {}
                Some(_) => self.take_fitted(work.done(), joins),
                None => self.set(work),
            }
            left = others;
        }
    }

    fn set_apertures(&mut self, only: Option<usize>, shields: bool) {
        let state = &mut *self.state;
        let Some(plan) = state.plan().cloned() else {
            return;
        };
        let Some(structure) = state.fitted_structure().cloned() else {
            let text = "There is no target to fit to: choose a structure.";
            state.notices.add(NoticeKind::Error, text.to_owned());
            return;
        };
        let beams = match only {
            Some(beam) if beam < plan.beams.len() => vec![beam],
            Some(_) => Vec::new(),
            None => {
                let beams = plan.beams.iter().enumerate();
                beams
                    .filter(|(_, b)| !b.setup && b.read_only.is_none())
                    .map(|(n, _)| n)
                    .collect()
            }
        };
        let how = state.aperture.how;
        let work = self.apertures(&plan, beams, structure, how, shields);
        self.set(work);
    }

    fn apertures(
        &self,
        plan: &Arc<Plan>,
        beams: Vec<usize>,
        structure: Structure,
        how: FitSettings,
        shields: bool,
    ) -> Apertures {
        let state = &*self.state;
        let beams = beams
            .into_iter()
            .map(|n| (n, state.results.sad_mm(plan.machine_of(&plan.beams[n]))));
        let grid = state.case().ct.as_ref().map(|ct| Arc::clone(ct.hu.grid()));
        Apertures {
            plan: state.plan,
            original: Arc::clone(plan),
            beams: beams.collect(),
            structure,
            grid,
            how,
            shields,
        }
    }

    /// Sets apertures at once, or on the worker where that takes longer than a frame.
    fn set(&mut self, work: Apertures) {
        if work.is_quick() {
            return self.take_apertures(work.done());
        }
        let name = format!(
            "{} {}",
            if work.shields {
                "Shielding"
            } else {
                "Fitting fields to"
            },
            work.structure.name
        );
        let task = Task::new(name, move |_| {
            let fitted = work.done();
            Ok::<_, String>(JobAnswer::then(move |window| window.take_apertures(fitted)))
        });
        self.worker.submit(Slot::Apertures, task);
    }

    /// Applies fitted apertures, unless their plan has changed meanwhile.
    fn take_apertures(&mut self, fitted: Fitted) {
        self.take_fitted(fitted, None);
    }

    /// As [`Self::take_apertures`], as part of the step with the gesture `joins`.
    fn take_fitted(&mut self, fitted: Fitted, joins: Option<u64>) {
        let state = &mut *self.state;
        let Fitted {
            plan,
            original,
            changed,
            beams,
            structure,
            how,
            refusals,
        } = fitted;
        for why in refusals {
            state.notices.add(NoticeKind::Error, why);
        }
        if !state
            .case()
            .plans
            .get(plan)
            .is_some_and(|p| Arc::ptr_eq(p, &original))
        {
            let text = format!(
                "{} has changed while its fields were fitted: fit again.",
                original.name
            );
            state.notices.add(NoticeKind::Warning, text);
        } else {
            for n in beams {
                state.fits.remember(&changed.beams[n], &structure, &how);
            }
            if changed != *original {
                state.edit_within(
                    Edit::SetPlan {
                        plan,
                        value: changed,
                    },
                    joins,
                );
            }
        }
    }
}

impl State {
    /// Changes the upper bounds of a beam's fluence.
    fn limit_fluence(&mut self, beam: usize, gesture: Option<u64>, change: impl FnOnce(&mut Beam)) {
        let Some(previous) = self.plan().and_then(|p| p.beams.get(beam)) else {
            return;
        };
        let mut value = previous.clone();
        change(&mut value);
        if value != *previous && previous.read_only.is_none() {
            self.edit(
                Edit::SetBeam {
                    plan: self.plan,
                    beam,
                    value,
                },
                gesture,
            );
        }
    }

    /// Changes all control points of the displayed point's segment; if `jaws` is set and the jaws are static, all of the beam's.
    fn change_points(
        &mut self,
        beam: usize,
        jaws: bool,
        gesture: Option<u64>,
        change: impl Fn(&mut ControlPoint, Option<&Mlc>),
    ) {
        let Some(previous) = self.plan().and_then(|p| p.beams.get(beam)) else {
            return;
        };
        if previous.read_only.is_some() {
            return;
        }
        let mut value = previous.clone();
        let points = &previous.control_points;
        let are_jaws_static = points.windows(2).all(|pair| pair[0].jaws == pair[1].jaws);
        let segment = segment_of(points, self.shown_point(previous));
        let moves = if jaws && are_jaws_static {
            0..points.len()
        } else {
            segment
        };
        for point in &mut value.control_points[moves] {
            change(point, previous.mlc.as_ref());
        }
        if value != *previous {
            self.edit(
                Edit::SetBeam {
                    plan: self.plan,
                    beam,
                    value,
                },
                gesture,
            );
        }
    }

    /// The target that new beams are fitted to: PTV, else CTV, else GTV, with contours.
    fn target_of_new_beams(&self) -> Option<&Structure> {
        let set = &self.case().structures.structures;
        let mut kinds = StructureKind::TARGETS.into_iter();
        kinds.find_map(|kind| {
            set.iter()
                .find(|s| s.kind == kind && !s.contours.is_empty())
        })
    }

    /// A new beam round the target of the case with 5 mm, with the leaves of its machine; as it was where there is no target, or none
    /// that can be fitted to.
    #[must_use]
    pub fn fitted_to_target(&mut self, beam: Beam) -> Beam {
        let Some(target) = self.target_of_new_beams().cloned() else {
            return beam;
        };
        let Some(value) = self.fitted_to(&target, &beam) else {
            return beam;
        };
        self.fits.remember(&value, &target, &FitSettings::default());
        value
    }

    fn fitted_to(&self, target: &Structure, beam: &Beam) -> Option<Beam> {
        let plan = self.plan()?;
        let grid = self.case().ct.as_ref().map(|ct| ct.hu.grid());
        let hull = hull_of(target, grid.map(|g| &**g)).ok()?;
        let name = plan.machine_of(beam);
        let machine = self.results.machine(name).cloned().or_else(|| {
            let shipped = Machine::is_shipped(name).then(|| Machine::resolve(name).ok());
            shipped.flatten().map(Arc::unwrap_or_clone)
        });
        let sad_mm = machine.as_ref().map_or(1000.0, |m| m.sad_mm);
        let leaves = machine
            .and_then(|m| m.leaves)
            .filter(|_| beam.mlc.is_none());
        let position = plan.position;
        let with_mlc = leaves.map(|leaves| with_leaves(beam, leaves.to_case()));
        // Leaves that cannot be fitted leave a beam of jaws alone.
        with_mlc
            .iter()
            .chain([beam])
            .find_map(|beam| fitted(beam, position, sad_mm, &hull, &FitSettings::default()).ok())
    }
}
