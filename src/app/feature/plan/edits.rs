//! Plans and beams: copied, removed, arranged.

use crate::feature::compare::state::{Layout, Source};
use crate::feature::plan::command::PlanAction;
use crate::state::{Selection, State, Workspace, roi};
use case::{Approval, Beam, DoseEngine, Edit, Plan, Template};
use glam::DVec3;
use std::iter;

impl State {
    pub fn change_plans(&mut self, action: PlanAction) {
        match action {
            PlanAction::Copy(plan) => self.copy_plan(plan),
            PlanAction::Remove(plan) => self.remove_plan(plan),
            PlanAction::Record {
                plan,
                stage,
                reason,
            } => {
                let approval = stage.map(|stage| {
                    let (date, time) = dicom::utc_now();
                    Approval {
                        stage,
                        by: files::user_name().to_owned(),
                        at: utc_words(&date, &time),
                        reason: reason.trim().to_owned(),
                    }
                });
                self.edit(Edit::SetApproval { plan, approval }, None);
                // An approval that is taken back asks for no optimisation.
                self.take_as_answered();
            }
            PlanAction::Compare(plan) => {
                self.compare.sides = [Some(Source::Plan(self.plan)), Some(Source::Plan(plan))];
                self.workspace = Workspace::Compare;
            }
            PlanAction::CompareEngines(plan) => self.compare_engines(plan),
            PlanAction::Add(template) => self.add_beams(template),
            PlanAction::CopyBeam(beam) => self.add_like(beam, Beam::clone),
            PlanAction::Oppose(beam) => self.add_like(beam, Beam::opposing),
            PlanAction::Reorder { beam, to } => self.set_plan(None, |plan| {
                if beam < plan.beams.len() && to < plan.beams.len() {
                    let moved = plan.beams.remove(beam);
                    plan.beams.insert(to, moved);
                }
            }),
            PlanAction::Weight {
                beam,
                percent,
                gesture,
            } => {
                self.set_plan(gesture, |plan| plan.set_weight(beam, percent));
            }
            PlanAction::Isocentre { beam, mm, gesture } => self.move_isocentre(beam, mm, gesture),
            PlanAction::ShareIsocentre { beam, shared } => {
                self.plan_tools.own_isocentres = !shared;
                let Some(plan) = self
                    .plan()
                    .filter(|p| shared && p.shared_isocentre_mm().is_none())
                else {
                    return;
                };
                if let Some(mm) = plan.beams.get(beam).map(|b| b.isocentre_mm) {
                    self.set_plan(None, |plan| set_isocentres(plan, mm));
                }
            }
            PlanAction::PickIsocentre(on) => self.plan_tools.picks_isocentre = on,
        }
    }

    /// Changes the displayed plan as one step; a change that leaves it as it was is none.
    fn set_plan(&mut self, gesture: Option<u64>, change: impl FnOnce(&mut Plan)) {
        let Some(plan) = self.plan() else { return };
        let mut value = Plan::clone(plan);
        change(&mut value);
        if value != **plan {
            self.edit(
                Edit::SetPlan {
                    plan: self.plan,
                    value,
                },
                gesture,
            );
        }
    }

    fn copy_plan(&mut self, index: usize) {
        let Some(plan) = self.case().plans.get(index) else {
            return;
        };
        // A copy is another plan: without a UID, it gets a new one when it is written.
        let name = self.free_plan_name(&format!("{} copy", plan.name));
        let copy = Plan {
            name,
            uid: None,
            ..Plan::clone(plan)
        };
        let engine = self.results.engines.get(&index).copied();
        let to = self.case().plans.len();
        self.edit(Edit::AddPlan(copy), None);
        if let Some(engine) = engine {
            self.results.engines.insert(to, engine);
        }
        self.plan = to;
        self.selection = Selection::Plan;
    }

    fn compare_engines(&mut self, index: usize) {
        let Some(plan) = self.case().plans.get(index) else {
            return;
        };
        let name = format!("{} collapsed cone", plan.name);
        let copy = Plan {
            name: self.free_plan_name(&name),
            uid: None,
            ..Plan::clone(plan)
        };
        let reference = self.same_by_collapsed_cone(&copy).unwrap_or_else(|| {
            let reference = self.case().plans.len();
            self.edit(Edit::AddPlan(copy), None);
            reference
        });
        self.compare.sides = [Some(Source::Plan(reference)), Some(Source::Plan(index))];
        self.compare.layout = Layout::Difference;
        self.workspace = Workspace::Compare;
    }

    /// Plan of collapsed cone that is another but for its name.
    fn same_by_collapsed_cone(&self, plan: &Plan) -> Option<usize> {
        (0..self.case().plans.len()).find(|&index| {
            let candidate = Plan {
                name: plan.name.clone(),
                uid: None,
                ..Plan::clone(&self.case().plans[index])
            };
            let engine = self.results.engine_of(index).engine;
            engine == DoseEngine::CollapsedCone && candidate == *plan
        })
    }

    fn remove_plan(&mut self, index: usize) {
        let displayed = index == self.plan;
        self.edit(Edit::RemovePlan { plan: index }, None);
        if displayed {
            self.selection = if self.case().plans.is_empty() {
                Selection::Nothing
            } else {
                Selection::Plan
            };
        }
    }

    /// The name, or with the first free count behind it.
    pub fn free_plan_name(&self, name: &str) -> String {
        let plans = &self.case().plans;
        let mut names =
            iter::once(name.to_owned()).chain((2..).map(|count: u32| format!("{name} {count}")));
        let free = names.find(|name| !plans.iter().any(|p| p.name.eq_ignore_ascii_case(name)));
        free.unwrap_or_default()
    }

    /// Isocentre of added beams: the isocentre of the last other beam, else the middle of the target, else the crosshair.
    fn isocentre_of_more_mm(&self) -> DVec3 {
        let others = self
            .plan()
            .and_then(|plan| plan.beams.iter().rfind(|b| !b.setup));
        others
            .map(|b| b.isocentre_mm)
            .or_else(|| roi::target_middle_mm(self.case()))
            .unwrap_or(self.crosshair_mm)
    }

    pub fn add_beams(&mut self, template: Template) {
        let Some(plan) = self.plan() else { return };
        let beams = template
            .beams(plan, self.isocentre_of_more_mm())
            .into_iter();
        let mut beams: Vec<Beam> = beams.map(|beam| self.fitted_to_target(beam)).collect();
        let Some(first) = beams.first().map(|b| b.number) else {
            return;
        };
        self.set_plan(None, |plan| plan.beams.append(&mut beams));
        self.selection = Selection::Beam(first);
    }

    /// Adds a beam made of another behind it, and selects it: later changes apply to it.
    fn add_like(&mut self, index: usize, make: impl FnOnce(&Beam) -> Beam) {
        let Some(plan) = self.plan() else { return };
        let Some(beam) = plan.beams.get(index) else {
            return;
        };
        let number = plan.free_beam_number();
        let mut value = Beam {
            number,
            ..make(beam)
        };
        let name = match beam.is_named_after_angles() {
            true => value.name_of_angles(),
            false if value.control_points == beam.control_points => format!("{} copy", beam.name),
            false => format!("{} opposing", beam.name),
        };
        value.name = plan.free_beam_name(&name, None);
        self.set_plan(None, |plan| plan.beams.insert(index + 1, value));
        self.selection = Selection::Beam(number);
    }

    fn move_isocentre(&mut self, beam: usize, mm: DVec3, gesture: Option<u64>) {
        self.plan_tools.picks_isocentre = false;
        if !mm.is_finite() {
            return;
        }
        let shared = self.shares_isocentre();
        self.set_plan(gesture, |plan| {
            if shared {
                set_isocentres(plan, mm);
            } else if let Some(beam) = plan.beams.get_mut(beam) {
                beam.isocentre_mm = mm;
            }
        });
    }
}

/// Date (YYYYMMDD) and time (HHMMSS) of DICOM as people read them.
fn utc_words(date: &str, time: &str) -> String {
    let [year, month, day] = [0..4, 4..6, 6..8].map(|range| date.get(range).unwrap_or_default());
    let [hour, minute, second] =
        [0..2, 2..4, 4..6].map(|range| time.get(range).unwrap_or_default());
    format!("{year}-{month}-{day} {hour}:{minute}:{second} UTC")
}

/// Moves the isocentre of all beams that may be edited; setup fields stay where they are.
fn set_isocentres(plan: &mut Plan, mm: DVec3) {
    let editable = plan
        .beams
        .iter_mut()
        .filter(|b| !b.setup && b.read_only.is_none());
    editable.for_each(|b| b.isocentre_mm = mm);
}
