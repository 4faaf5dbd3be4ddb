//! Targets of a protocol among the structures of a case, and whether they lie where a target can.

use super::super::beam_job::mask_of;
use super::super::body::{Body, BodyChoice};
use super::super::contouring::{ContouringError, contours_of_expression};
use super::PlanningError;
use case::{Ct, Goal, Structure, StructureExpression, StructureKind, StructureSet, name_letters};
use engine::JobControl;
use files::{GoalTemplate, Level, Protocol, TemplateGoal};
use geometry::Mask;
use glam::DVec3;

/// A target of which more lies outside of the body was drawn for another patient, or the body was. Chosen.
const MOST_OUTSIDE_PERCENT: f64 = 50.0;

/// A target lies within another if no more of it is outside: the edges of voxels differ. Chosen.
const WITHIN_PERCENT: f64 = 99.5;

/// A target without a level takes the level of the target that this much of it lies in. Chosen.
const MOSTLY_PERCENT: f64 = 50.0;

/// Part of a level's dose that targets without a level are to get: the near-minimum of ICRU 50.
const LEAST_PART: f64 = 0.95;

/// Words of the left and of the right side in names.
const LEFT: [&str; 5] = ["l", "left", "lt", "li", "links"];
const RIGHT: [&str; 5] = ["r", "right", "rt", "re", "rechts"];

/// Targets of a protocol with their structures, the highest level first.
pub(super) struct Targets {
    levels: Vec<(Level, u32, String)>,
}

/// Place of the targets in the body.
pub(super) struct Places {
    /// Goals of the targets that no level names.
    pub other_goals: Vec<Goal>,
    /// Middle of the body's box, patient LPS, mm.
    pub middle_mm: DVec3,
}

impl Targets {
    /// Finds the target of each level; one that has no target's type becomes a PTV.
    pub fn find(
        protocol: &Protocol,
        ct: &Ct,
        set: &mut StructureSet,
        remarks: &mut Vec<String>,
        control: &JobControl,
    ) -> Result<Self, PlanningError> {
        let mut levels: Vec<(Level, u32, String)> = Vec::new();
        for level in &protocol.levels {
            let structure = match (find_target(protocol, level, set), &level.of) {
                (Err(PlanningError::NoTarget { .. }), Some(expression)) => {
                    let target = make_target(level, expression, ct, set, control)?;
                    remarks.push(format!(
                        "the case has no target '{}': it is made as {expression}; review it",
                        level.target
                    ));
                    set.structures.push(target.clone());
                    target
                }
                (structure, _) => structure?.clone(),
            };
            let (number, name) = (structure.number, structure.name.clone());
            if structure.contours.is_empty() {
                return Err(PlanningError::NoContours(name));
            }
            if let Some((other, ..)) = levels.iter().find(|(_, taken, _)| *taken == number) {
                return Err(PlanningError::OneTargetOfTwo {
                    name,
                    first_gy: other.gy,
                    second_gy: level.gy,
                });
            }
            if name_letters(&name) != name_letters(&level.target) {
                remarks.push(format!("'{name}' is the target '{}'", level.target));
            }
            levels.push((level.clone(), number, name));
        }
        for structure in &mut set.structures {
            let is_target = levels
                .iter()
                .any(|(_, number, _)| *number == structure.number);
            if is_target && !structure.kind.is_target() {
                remarks.push(format!("'{}' gets the type PTV", structure.name));
                structure.kind = StructureKind::Ptv;
            }
        }
        Ok(Self { levels })
    }

    /// Each target of the protocol with its structure and dose.
    pub fn listed(&self) -> Vec<(String, String, f64)> {
        let levels = self.levels.iter();
        levels
            .map(|(level, _, name)| (level.target.clone(), name.clone(), level.gy))
            .collect()
    }

    /// Name of the structure that a name of the protocol stands for, where it is a target.
    pub fn structure_of(&self, protocol: &Protocol, name: &str) -> Option<&str> {
        let level = protocol.level_of(name)?;
        let mut levels = self.levels.iter();
        levels
            .find(|(other, ..)| other == level)
            .map(|(_, _, structure)| structure.as_str())
    }

    /// The goals of the protocol; goals of targets have the names of their structures.
    pub fn named(&self, protocol: &Protocol) -> GoalTemplate {
        let goals = protocol.goals.goals.iter().map(|template_goal| {
            let name = self.structure_of(protocol, &template_goal.goal.structure);
            match name {
                None => template_goal.clone(),
                Some(name) => TemplateGoal {
                    goal: template_goal.goal.clone().of_structure(name, None),
                    ..template_goal.clone()
                },
            }
        });
        GoalTemplate {
            goals: goals.collect(),
            ..protocol.goals.clone()
        }
    }

    fn structures<'a>(&self, set: &'a StructureSet) -> impl Iterator<Item = &'a Structure> {
        let levels = self.levels.iter();
        levels.filter_map(|(_, number, _)| set.by_number(*number))
    }

    /// Corners of all targets, patient LPS, mm.
    pub fn points_mm(&self, set: &StructureSet) -> Vec<DVec3> {
        let contours = self.structures(set).flat_map(|s| s.contours.iter());
        contours.flat_map(|c| c.points_mm.iter().copied()).collect()
    }

    /// Middle of the box of all targets, to a mm.
    pub fn middle_mm(&self, set: &StructureSet) -> DVec3 {
        middle_of(self.points_mm(set)).round()
    }

    /// Targets lie in the body, and none within a higher one; a target without a level gets the goal of the level that it lies in.
    pub fn check_places(
        &self,
        ct: &Ct,
        set: &StructureSet,
        control: &JobControl,
    ) -> Result<Places, PlanningError> {
        let body = Body::new(ct, set, BodyChoice::Drawn, control)
            .map_err(|why| PlanningError::Body(why.to_string()))?;
        let mut masks: Vec<(&Level, &str, Mask)> = Vec::new();
        for (level, number, name) in &self.levels {
            let structure = set.by_number(*number).filter(|s| !s.contours.is_empty());
            let structure = structure.ok_or_else(|| PlanningError::NoContours(name.clone()))?;
            let mask = target_mask(ct, structure, control)?;
            if let Some(body) = &body.mask {
                let percent = 100.0 - percent_within(&mask, body);
                if percent > MOST_OUTSIDE_PERCENT {
                    return Err(PlanningError::OutsideBody {
                        name: name.clone(),
                        percent,
                    });
                }
            }
            for (outer_level, outer, outer_mask) in &masks {
                if percent_within(&mask, outer_mask) >= WITHIN_PERCENT {
                    return Err(PlanningError::Within {
                        inner: name.clone(),
                        inner_gy: level.gy,
                        outer: (*outer).to_owned(),
                        outer_gy: outer_level.gy,
                    });
                }
            }
            masks.push((level, name, mask));
        }
        let mut other_goals = Vec::new();
        for structure in &set.structures {
            let is_listed = self.levels.iter().any(|(_, n, _)| *n == structure.number);
            if is_listed || !structure.kind.is_target() || structure.contours.is_empty() {
                continue;
            }
            let mask = target_mask(ct, structure, control)?;
            let mut levels = masks.iter();
            let (level, ..) = levels
                .find(|(_, _, outer)| percent_within(&mask, outer) >= MOSTLY_PERCENT)
                .ok_or_else(|| PlanningError::OtherTarget(structure.name.clone()))?;
            other_goals.push(least_dose(structure, LEAST_PART * level.gy));
        }
        let middle_mm = match &body.mask {
            Some(mask) => middle_of(box_of(mask).into()),
            None => ct.hu.grid().middle_mm(),
        };
        Ok(Places {
            other_goals,
            middle_mm,
        })
    }
}

/// The goal of a near-minimum dose, of the second priority.
fn least_dose(structure: &Structure, gy: f64) -> Goal {
    use case::{Bound, Metric};
    // Hundredths of a Gy are what a goal says in words.
    let gy = (100.0 * gy).round() / 100.0;
    Goal::new(
        &structure.name,
        Metric::D95.with_number(98.0),
        Bound::AtLeast,
        gy,
    )
    .with_priority(2)
    .of_structure(&structure.name, Some(structure.number))
}

fn find_target<'a>(
    protocol: &Protocol,
    level: &Level,
    set: &'a StructureSet,
) -> Result<&'a Structure, PlanningError> {
    for name in level.names() {
        let named: Vec<&Structure> = set.of_letters(name).collect();
        match named[..] {
            [] => {}
            [one] => return Ok(one),
            _ => return Err(two_targets(level, &named)),
        }
    }
    // The only target of the protocol is the only PTV of the case, whatever its name.
    let ptvs = set
        .structures
        .iter()
        .filter(|s| s.kind == StructureKind::Ptv);
    let ptvs: Vec<&Structure> = ptvs.collect();
    match ptvs[..] {
        [one] if protocol.levels.len() == 1 => Ok(one),
        [_, _, ..] if protocol.levels.len() == 1 => Err(two_targets(level, &ptvs)),
        _ => {
            let names: Vec<&str> = level.names().collect();
            let targets = set.structures.iter().filter(|s| s.kind.is_target());
            let targets: Vec<&str> = targets.map(|s| s.name.as_str()).collect();
            Err(PlanningError::NoTarget {
                target: level.target.clone(),
                looked_for: names.join(", "),
                has: match targets.is_empty() {
                    true => "no target".to_owned(),
                    false => targets.join(", "),
                },
            })
        }
    }
}

/// A target of an expression: it is treated, so that it stays in the case as if it were drawn.
fn make_target(
    level: &Level,
    expression: &StructureExpression,
    ct: &Ct,
    set: &StructureSet,
    control: &JobControl,
) -> Result<Structure, PlanningError> {
    let contours = expression
        .renamed(&|name| named_or_of_type(set, name))
        .and_then(|expression| contours_of_expression(ct, set, &expression, control));
    let contours = contours.map_err(|why| PlanningError::NotMade {
        target: level.target.clone(),
        why,
    })?;
    Ok(Structure {
        contours: contours.contours,
        ..Structure::new(level.target.as_str(), set.free_number(), StructureKind::Ptv)
    })
}

/// Name of the structure of these letters, else of the only one of the type of this name: `GTV`.
pub(super) fn named_or_of_type(set: &StructureSet, name: &str) -> Result<String, ContouringError> {
    let mut of_type = set
        .structures
        .iter()
        .filter(|s| s.kind.is_target() && s.kind.name() == name);
    let only = of_type.next().filter(|_| of_type.next().is_none());
    let structure = set.of_letters(name).next().or(only);
    structure
        .map(|s| s.name.clone())
        .ok_or_else(|| ContouringError::Unknown(name.to_owned()))
}

fn two_targets(level: &Level, candidates: &[&Structure]) -> PlanningError {
    let names: Vec<String> = candidates.iter().map(|s| format!("'{}'", s.name)).collect();
    PlanningError::TwoTargets {
        target: level.target.clone(),
        names: names.join(" and "),
    }
}

fn target_mask(
    ct: &Ct,
    structure: &Structure,
    control: &JobControl,
) -> Result<Mask, PlanningError> {
    let mask = mask_of(ct.hu.grid(), structure, control);
    if control.check().is_err() {
        return Err(PlanningError::Cancelled);
    }
    mask.map_err(|_| PlanningError::NoContours(structure.name.clone()))
}

/// Percent of a mask's volume that lies in another on the same grid.
fn percent_within(mask: &Mask, outer: &Mask) -> f64 {
    let [nx, ny, _] = mask.grid().size();
    let (mut inside, mut total) = (0.0, 0.0);
    for (voxel, share) in mask.iter() {
        let (i, j, k) = (voxel % nx, voxel / nx % ny, voxel / nx / ny);
        let share = f64::from(share);
        total += share;
        inside += share.min(f64::from(outer.coverage_at(i, j, k)));
    }
    if total > 0.0 {
        100.0 * inside / total
    } else {
        0.0
    }
}

/// Two corners of the box of a mask, patient LPS, mm.
fn box_of(mask: &Mask) -> [DVec3; 2] {
    let ([i, j, k], [nx, ny, nz]) = (mask.offset(), mask.size());
    let last = [i + nx, j + ny, k + nz].map(|end| end.saturating_sub(1));
    [
        mask.grid().centre_mm(i, j, k),
        mask.grid().centre_mm(last[0], last[1], last[2]),
    ]
}

/// Middle of the box of points.
fn middle_of(points_mm: Vec<DVec3>) -> DVec3 {
    let low = points_mm.iter().copied().reduce(DVec3::min);
    let high = points_mm.iter().copied().reduce(DVec3::max);
    0.5 * (low.unwrap_or_default() + high.unwrap_or_default())
}

/// Structures that differ in the word of their side alone lie on their sides: the left one has the greater x of LPS.
pub(super) fn check_sides(set: &StructureSet) -> Result<(), PlanningError> {
    for left in &set.structures {
        let Some(stem) = stem_of(&left.name, &LEFT) else {
            continue;
        };
        let right = set
            .structures
            .iter()
            .find(|other| stem_of(&other.name, &RIGHT).as_ref() == Some(&stem));
        let Some(right) = right else { continue };
        if left.contours.is_empty() || right.contours.is_empty() {
            continue;
        }
        let [left_mm, right_mm] = [left, right].map(|s| {
            let points = s.contours.iter().flat_map(|c| c.points_mm.iter().copied());
            middle_of(points.collect())
        });
        if left_mm.x < right_mm.x {
            return Err(PlanningError::Swapped {
                left: left.name.clone(),
                right: right.name.clone(),
            });
        }
    }
    Ok(())
}

/// A name without the word of its side: a word by itself, or the beginning or end of `LeftParotid`.
fn stem_of(name: &str, side: &[&str]) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for c in name.chars() {
        let begins = c.is_uppercase() && was_lower || !c.is_alphanumeric();
        if begins || words.is_empty() {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    let place = words
        .iter()
        .position(|word| side.contains(&word.as_str()))?;
    words.remove(place);
    words.sort();
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_of_a_name_is_a_word_of_it() {
        for (name, left, right) in [
            ("LeftParotid", Some("parotid"), None),
            ("Parotid_R", None, Some("parotid")),
            ("parotid gland, lt", Some("gland parotid"), None),
            ("Larynx", None, None),
            ("Lens_L_PRV", Some("lens prv"), None),
            ("L", None, None),
        ] {
            let stems =
                [&LEFT, &RIGHT].map(|side| stem_of(name, side).map(|words| words.join(" ")));
            assert_eq!(
                stems.each_ref().map(Option::as_deref),
                [left, right],
                "{name}"
            );
        }
    }
}
