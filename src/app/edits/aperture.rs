//! Apertures: fitted, shielded, moved by hand.

use crate::command::ApertureAction;
use crate::jobs::{Answer, Apertures, Fitted, Requests, hull_of};
use crate::state::slot::Slot;
use crate::state::{NoticeKind, State};
use analysis::{AperturePart, FitSettings, brushed, fitted, move_part, segment_of, with_leaves};
use case::{Beam, ControlPoint, Edit, FluenceStroke, Mlc, StructureKind};
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
            ApertureAction::Move { beam, part, to_mm, gesture } => {
                let whole = matches!(part, AperturePart::Jaw { .. });
                state.change_points(beam, whole, gesture, |point, _| move_part(point, part, to_mm));
            }
            ApertureAction::Brush { beam, bank, from_mm, to_mm } => {
                state.change_points(beam, false, Some(STROKE), |point, mlc| {
                    if let Some(mlc) = mlc {
                        brushed(point, mlc, bank, from_mm, to_mm);
                    }
                });
            }
            ApertureAction::Limit { beam, from_mm, to_mm } => {
                let brush = state.aperture.limits;
                let radius_mm = 0.5 * brush.diameter_mm;
                let stroke = FluenceStroke { from_mm, to_mm, radius_mm, percent: brush.bound() };
                state.limit_fluence(beam, Some(LIMITS), |beam| beam.brush_fluence(&stroke));
            }
            ApertureAction::ClearLimits(beam) => {
                state.limit_fluence(beam, None, |beam| beam.fluence_limits.clear());
            }
            ApertureAction::Fit(only) => self.set_apertures(only, false),
            ApertureAction::Shield(only) => self.set_apertures(only, true),
        }
    }

    fn set_apertures(&mut self, only: Option<usize>, shields: bool) {
        let state = &mut *self.state;
        let Some(before) = state.plan().cloned() else { return };
        let Some(structure) = state.fitted_structure().cloned() else {
            let text = "There is no target to fit to: choose a structure.";
            state.notices.add(NoticeKind::Error, text.to_owned());
            return;
        };
        let treats = |b: &Beam| !b.setup && b.read_only.is_none();
        let beams = before.beams.iter().enumerate();
        let beams = beams.filter(|(n, b)| only.map_or(treats(b), |only| only == *n));
        let beams = beams.map(|(n, b)| (n, state.results.sad_mm(before.machine_of(b)))).collect();
        let grid = state.case().ct.as_ref().map(|ct| Arc::clone(ct.hu.grid()));
        let (plan, how) = (state.plan, state.aperture.how);
        let work = Apertures { plan, before, beams, structure, grid, how, shields };
        if work.is_quick() {
            return self.take_apertures(work.done());
        }
        let name = format!("{} {}", if shields { "Shielding" } else { "Fitting to" }, work.structure.name);
        let task = Task::new(name, move |_| Ok::<_, String>(Answer::Apertures(Box::new(work.done()))));
        self.worker.submit(Slot::Apertures, task);
    }

    /// Applies fitted apertures, unless their plan has changed meanwhile.
    pub fn take_apertures(&mut self, made: Fitted) {
        let state = &mut *self.state;
        let Fitted { plan, before, after, told } = made;
        for why in told {
            state.notices.add(NoticeKind::Error, why);
        }
        if !state.case().plans.get(plan).is_some_and(|p| Arc::ptr_eq(p, &before)) {
            let text = format!("{} has changed while its fields were fitted: fit again.", before.name);
            state.notices.add(NoticeKind::Warning, text);
        } else if after != *before {
            state.edit(Edit::SetPlan { plan, value: after }, None);
        }
    }
}

impl State {
    /// Changes the upper bounds of a beam's fluence.
    fn limit_fluence(&mut self, beam: usize, gesture: Option<u64>, change: impl FnOnce(&mut Beam)) {
        let Some(before) = self.plan().and_then(|p| p.beams.get(beam)) else { return };
        let mut value = before.clone();
        change(&mut value);
        if value != *before && before.read_only.is_none() {
            self.edit(Edit::SetBeam { plan: self.plan, beam, value }, gesture);
        }
    }

    /// Changes the displayed control point of a beam, with those of its segment; `jaws`: with all where the jaws stand still.
    fn change_points(
        &mut self,
        beam: usize,
        jaws: bool,
        gesture: Option<u64>,
        change: impl Fn(&mut ControlPoint, Option<&Mlc>),
    ) {
        let Some(before) = self.plan().and_then(|p| p.beams.get(beam)) else { return };
        if before.read_only.is_some() {
            return;
        }
        let mut value = before.clone();
        let points = &before.control_points;
        let stand = points.windows(2).all(|pair| pair[0].jaws == pair[1].jaws);
        let segment = segment_of(points, self.shown_point(before));
        let moves = if jaws && stand { 0..points.len() } else { segment };
        for point in &mut value.control_points[moves] {
            change(point, before.mlc.as_ref());
        }
        if value != *before {
            self.edit(Edit::SetBeam { plan: self.plan, beam, value }, gesture);
        }
    }

    /// A new beam round the target of the case (PTV, else CTV, else GTV) with 5 mm, with the leaves of its machine; as it was where there
    /// is no target, or none that can be fitted to.
    #[must_use]
    pub fn fitted_to_target(&self, beam: Beam) -> Beam {
        let Some(plan) = self.plan() else { return beam };
        let set = &self.case().structures.structures;
        let of = |kind| set.iter().find(|s| s.kind == kind && !s.contours.is_empty());
        let kinds = [StructureKind::Ptv, StructureKind::Ctv, StructureKind::Gtv];
        let Some(target) = kinds.into_iter().find_map(of) else { return beam };
        let grid = self.case().ct.as_ref().map(|ct| ct.hu.grid());
        let Ok(hull) = hull_of(target, grid.map(|g| &**g)) else { return beam };
        let name = plan.machine_of(&beam);
        let shipped = || Machine::is_shipped(name).then(|| Machine::resolve(name).ok());
        let machine = self.results.machine(name).cloned();
        let machine = machine.or_else(|| shipped().flatten().map(Arc::unwrap_or_clone));
        let sad_mm = machine.as_ref().map_or(1000.0, |m| m.sad_mm);
        let leaves = machine.and_then(|m| m.leaves).filter(|_| beam.mlc.is_none());
        let position = plan.position;
        let fit = |beam: &Beam| fitted(beam, position, sad_mm, &hull, &FitSettings::default()).ok();
        let with_mlc = leaves.and_then(|leaves| fit(&with_leaves(&beam, leaves.to_case())));
        with_mlc.or_else(|| fit(&beam)).unwrap_or(beam)
    }
}
