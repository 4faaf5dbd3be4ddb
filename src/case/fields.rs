//! Arrangements of beams: names after the angles, opposing beams, templates.

use super::{Beam, GantryArc, Jaws, MlcAxis, Plan};
use geometry::wrapped_deg;
use glam::DVec3;

/// Leaf sides that mirror each other within this distance are symmetric, mm.
const SAME_SIDE_MM: f64 = 1e-6;

/// Beams that are added together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Template {
    One,
    /// 0 and 180 degrees.
    ApPa,
    /// 90 and 270 degrees.
    Lateral,
    /// 0, 90, 180 and 270 degrees.
    Box,
    /// Equal angles between the beams, the first at 0 degrees.
    Equispaced(u8),
    Arc(GantryArc),
}

impl Template {
    pub const ALL: [Self; 8] = [
        Self::One,
        Self::ApPa,
        Self::Lateral,
        Self::Box,
        Self::Equispaced(5),
        Self::Equispaced(7),
        Self::Equispaced(9),
        Self::Arc(GantryArc::FULL),
    ];

    pub fn name(self) -> String {
        match self {
            Self::One => "One beam".to_owned(),
            Self::ApPa => "Opposed pair AP/PA".to_owned(),
            Self::Lateral => "Opposed pair, lateral".to_owned(),
            Self::Box => "Four-field box".to_owned(),
            Self::Equispaced(count) => format!("{count} equispaced beams"),
            Self::Arc(arc) if arc == GantryArc::FULL => "Full arc 181° to 179°".to_owned(),
            Self::Arc(arc) => format!("Arc {}° to {}°", arc.start_deg, arc.stop_deg),
        }
    }

    /// Gantry angles at which the beams begin, degrees.
    fn angles_deg(self) -> Vec<f64> {
        match self {
            Self::One => vec![0.0],
            Self::ApPa => vec![0.0, 180.0],
            Self::Lateral => vec![90.0, 270.0],
            Self::Box => vec![0.0, 90.0, 180.0, 270.0],
            Self::Equispaced(count) => (0..count)
                .map(|n| f64::from(n) * 360.0 / f64::from(count.max(1)))
                .collect(),
            Self::Arc(arc) => vec![arc.start_deg],
        }
    }

    /// The beams, numbered after the beams of `plan`, of 100 MU and a 100 mm x 100 mm field each.
    pub fn beams(self, plan: &Plan, isocentre_mm: DVec3) -> Vec<Beam> {
        let mut next = plan.clone();
        let first = plan.beams.len();
        for gantry_deg in self.angles_deg() {
            let jaws = Jaws::symmetric(100.0, 100.0);
            let mut beam = Beam::fixed(
                "",
                next.free_beam_number(),
                gantry_deg,
                isocentre_mm,
                jaws,
                100.0,
            );
            if let Self::Arc(arc) = self {
                beam = beam.along_arc(arc);
            }
            beam.name = next.free_beam_name(&beam.name_of_angles(), None);
            next.beams.push(beam);
        }
        next.beams.split_off(first)
    }
}

impl Beam {
    /// The name of the angles: `G000`, `G270 C15`, `G000 T90` (couch), `G181-179` (arc).
    pub fn name_of_angles(&self) -> String {
        let (Some(start), Some(end)) = (self.control_points.first(), self.control_points.last())
        else {
            return "Beam".to_owned();
        };

        let mut name = format!("G{:03}", whole_deg(start.gantry_deg));
        if whole_deg(end.gantry_deg) != whole_deg(start.gantry_deg) {
            name += &format!("-{:03}", whole_deg(end.gantry_deg));
        }
        for (letter, deg) in [('C', start.collimator_deg), ('T', start.couch_deg)] {
            if whole_deg(deg) != 0 {
                name += &format!(" {letter}{}", whole_deg(deg));
            }
        }
        name
    }

    /// Whether the beam is called after its angles, with or without a count.
    pub fn is_named_after_angles(&self) -> bool {
        let suffix = self.name.strip_prefix(&self.name_of_angles());
        suffix.is_some_and(|suffix| suffix.is_empty() || is_count(suffix))
    }

    /// Whether the beam takes part in the weights: it is delivered and may be edited.
    pub fn is_weighted(&self) -> bool {
        self.is_switched_on() && self.read_only.is_none()
    }

    /// The beam from the other side with the same aperture: every ray through the isocentre plane passes it where the
    /// ray of this beam does. The gantry turns by 180 degrees at the same couch angle, which mirrors the device's x axis
    /// about the gantry's axis: the collimator angle changes its sign and x is mirrored. Leaves that travel along y and
    /// whose sides are not symmetric keep their sides where the collimator is mirrored about 90 degrees, and y with it.
    #[must_use]
    pub fn opposing(&self) -> Self {
        let symmetric = self.mlc.as_ref().is_none_or(|mlc| {
            let sides = &mlc.boundaries_mm;
            sides
                .iter()
                .zip(sides.iter().rev())
                .all(|(a, b)| (a + b).abs() <= SAME_SIDE_MM)
        });
        let axis = self.mlc.as_ref().map(|mlc| mlc.axis);
        let mirrors_y = axis == Some(MlcAxis::Y) && !symmetric;

        let mut value = self.clone();
        // A map is found for one direction.
        value.fluence = None;
        value.fluence_limits.clear();
        value.cut_from = None;
        for point in &mut value.control_points {
            point.gantry_deg = wrapped_deg(point.gantry_deg + 180.0);
            let from = if mirrors_y { 180.0 } else { 0.0 };
            point.collimator_deg = wrapped_deg(from - point.collimator_deg);
            if mirrors_y {
                point.jaws.y = mirrored(point.jaws.y);
            } else {
                point.jaws.x = mirrored(point.jaws.x);
            }
            match (axis, mirrors_y) {
                (Some(MlcAxis::Y), false) => point.leaves_mm.reverse(),
                (Some(_), _) => point
                    .leaves_mm
                    .iter_mut()
                    .for_each(|pair| *pair = mirrored(*pair)),
                (None, _) => {}
            }
        }
        value
    }
}

/// Angle rounded to a whole degree, 0 to 359.
fn whole_deg(deg: f64) -> u32 {
    wrapped_deg(deg.round()) as u32
}

fn mirrored([low, high]: [f64; 2]) -> [f64; 2] {
    [-high, -low]
}

fn is_count(suffix: &str) -> bool {
    let digits = suffix
        .strip_prefix(" (")
        .and_then(|suffix| suffix.strip_suffix(')'));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

impl Plan {
    /// A number that no beam has.
    pub fn free_beam_number(&self) -> u32 {
        self.beams
            .iter()
            .map(|b| b.number)
            .max()
            .unwrap_or(0)
            .saturating_add(1)
    }

    /// The name, or with the first free count behind it: `G000 (2)`. `index` is the index of the beam to be named.
    pub fn free_beam_name(&self, name: &str, index: Option<usize>) -> String {
        let counted = (1..).map(|n| {
            if n == 1 {
                name.to_owned()
            } else {
                format!("{name} ({n})")
            }
        });
        let mut free = counted.filter(|name| {
            let mut others = self
                .beams
                .iter()
                .enumerate()
                .filter(|(n, _)| Some(*n) != index);
            !others.any(|(_, beam)| beam.name.eq_ignore_ascii_case(name))
        });
        free.next().unwrap_or_default()
    }

    /// Beams that were called after their angles are called after the present ones; names that a user typed stay.
    pub(super) fn name_turned_beams(&mut self, previous: &Self) {
        for index in 0..self.beams.len() {
            let beam = &self.beams[index];
            let old = previous.beams.iter().find(|b| b.number == beam.number);
            let turned = old.is_some_and(|old| {
                old.name == beam.name
                    && old.is_named_after_angles()
                    && old.name_of_angles() != beam.name_of_angles()
            });
            if turned {
                self.beams[index].name = self.free_beam_name(&beam.name_of_angles(), Some(index));
            }
        }
    }

    /// The isocentre that all photon beams for treatment share; `None` where they differ, and without beams.
    pub fn shared_isocentre_mm(&self) -> Option<DVec3> {
        let mut places = self
            .beams
            .iter()
            .filter(|b| !b.setup)
            .map(|b| b.isocentre_mm);
        let first = places.next()?;
        places.all(|mm| mm == first).then_some(first)
    }

    /// Share of a beam in the monitor units of a fraction, percent; `None` for a beam that is not delivered, and where
    /// no beam has monitor units.
    pub fn weight_percent(&self, beam: usize) -> Option<f64> {
        let total = self.weighted_mu();
        let mu = self.beams.get(beam).filter(|b| b.is_weighted())?.mu;
        (total > 0.0).then(|| 100.0 * mu / total)
    }

    /// Shares of all beams in whole percent that add up to 100, by the largest remainders; `None` as in [`Self::weight_percent`].
    pub fn whole_percents(&self) -> Vec<Option<u32>> {
        let exact: Vec<Option<f64>> = (0..self.beams.len())
            .map(|n| self.weight_percent(n))
            .collect();
        let mut percents: Vec<Option<u32>> = exact.iter().map(|p| p.map(|p| p as u32)).collect();
        let sum: u32 = percents.iter().flatten().sum();
        let fractions: Vec<f64> = exact.iter().map(|p| p.map_or(-1.0, f64::fract)).collect();
        let mut order: Vec<usize> = (0..percents.len())
            .filter(|n| percents[*n].is_some())
            .collect();
        order.sort_by(|a, b| fractions[*b].total_cmp(&fractions[*a]));
        let missing = 100_u32.saturating_sub(sum) as usize;
        for n in order.into_iter().take(missing) {
            percents[n] = percents[n].map(|p| p + 1);
        }
        percents
    }

    /// Gives a beam this share (0 to 100) of the plan's monitor units: their total stays, the other beams keep their
    /// ratios. Nothing happens where there is no other beam to balance it.
    pub fn set_weight(&mut self, beam: usize, percent: f64) {
        let total = self.weighted_mu();
        let share = percent / 100.0;
        let others: Vec<usize> = (0..self.beams.len())
            .filter(|n| *n != beam && self.beams[*n].is_weighted())
            .collect();
        let valid = (0.0..=1.0).contains(&share) && total > 0.0 && !others.is_empty();
        let Some(value) = self
            .beams
            .get_mut(beam)
            .filter(|b| valid && b.is_weighted())
        else {
            return;
        };
        let others_mu = total - value.mu;
        value.mu = total * share;
        let wanted = total * (1.0 - share);
        let count = others.len() as f64;
        for n in others {
            let mu = &mut self.beams[n].mu;
            *mu = if others_mu > 0.0 {
                *mu * wanted / others_mu
            } else {
                wanted / count
            };
        }
    }

    fn weighted_mu(&self) -> f64 {
        self.beams
            .iter()
            .filter(|b| b.is_weighted())
            .fold(0.0, |sum, b| sum + b.mu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mlc;
    use geometry::PatientPosition;

    fn beam(axis: MlcAxis, sides: Vec<f64>, angles: [f64; 3]) -> Beam {
        let mut beam = Beam::fixed(
            "A",
            1,
            angles[0],
            DVec3::new(7.0, -30.0, 12.0),
            Jaws {
                x: [-20.0, 55.0],
                y: [-13.0, 41.0],
            },
            50.0,
        );
        let point = &mut beam.control_points[0];
        (point.collimator_deg, point.couch_deg) = (angles[1], angles[2]);
        point.leaves_mm = vec![[-18.0, 3.0], [-9.0, 22.0], [4.0, 50.0]];
        beam.mlc = Some(Mlc {
            axis,
            boundaries_mm: sides,
        });
        beam
    }

    /// Corners of the jaws and of every leaf pair in the isocentre plane, patient LPS, in no order.
    fn corners(beam: &Beam) -> Vec<[i64; 3]> {
        let p = &beam.control_points[0];
        let frame = beam.frame_at(p, PatientPosition::Hfs, 1000.0);
        let mlc = beam.mlc.as_ref().unwrap();
        let mut places: Vec<[f64; 2]> = p
            .jaws
            .x
            .iter()
            .flat_map(|x| p.jaws.y.map(|y| [*x, y]))
            .collect();
        for (side, pair) in mlc.boundaries_mm.windows(2).zip(&p.leaves_mm) {
            for across in [side[0], side[1]] {
                for along in *pair {
                    places.push(if mlc.axis == MlcAxis::X {
                        [along, across]
                    } else {
                        [across, along]
                    });
                }
            }
        }
        let patient = places
            .iter()
            .map(|[x, y]| frame.patient_from_device(DVec3::new(*x, *y, 0.0)));
        let mut corners: Vec<[i64; 3]> = patient
            .map(|p| (p * 1e6).round().as_i64vec3().to_array())
            .collect();
        corners.sort_unstable();
        corners
    }

    /// Whether corners differ by at most 2e-6 mm an axis.
    fn is_near(a: &[i64; 3], b: &[i64; 3]) -> bool {
        (0..3).all(|n| (a[n] - b[n]).abs() <= 2)
    }

    fn names(template: Template, plan: &Plan) -> Vec<String> {
        template
            .beams(plan, DVec3::ZERO)
            .into_iter()
            .map(|b| b.name)
            .collect()
    }

    #[test]
    fn an_opposing_beam_has_the_same_edges_in_the_isocentre_plane_from_the_other_side() {
        for axis in [MlcAxis::X, MlcAxis::Y] {
            for sides in [
                vec![-30.0, -10.0, 10.0, 30.0],
                vec![-30.0, -5.0, 10.0, 45.0],
            ] {
                for angles in [
                    [0.0, 0.0, 0.0],
                    [37.0, 15.0, 0.0],
                    [110.0, 300.0, 25.0],
                    [270.0, 90.0, 330.0],
                ] {
                    let one = beam(axis, sides.clone(), angles);
                    let other = one.opposing();
                    assert_eq!(other.mlc, one.mlc, "the same leaves");
                    let theirs = corners(&other);
                    for corner in corners(&one) {
                        assert!(
                            theirs.iter().any(|c| is_near(c, &corner)),
                            "{axis:?} {angles:?} {corner:?}"
                        );
                    }
                    let zs = [&one, &other].map(|b| {
                        let p = &b.control_points[0];
                        b.frame_at(p, PatientPosition::Hfs, 1000.0).axes[2]
                    });
                    assert!(
                        (zs[0] + zs[1]).length() < 1e-9,
                        "it comes from the other side"
                    );
                    assert!(
                        one.opposing().opposing().control_points[0].leaves_mm
                            == one.control_points[0].leaves_mm
                    );
                }
            }
        }
    }

    #[test]
    fn templates_have_their_angles_names_and_numbers() {
        let mut plan = Plan::new("P", "generic-6mv");

        assert_eq!(
            names(Template::Box, &plan),
            ["G000", "G090", "G180", "G270"]
        );
        assert_eq!(
            names(Template::Equispaced(5), &plan),
            ["G000", "G072", "G144", "G216", "G288"]
        );
        plan.beams = Template::ApPa.beams(&plan, DVec3::X);
        assert_eq!(names(Template::ApPa, &plan), ["G000 (2)", "G180 (2)"]);
        let arc = Template::Arc(GantryArc::FULL)
            .beams(&plan, DVec3::X)
            .remove(0);
        assert_eq!((arc.name.as_str(), arc.number), ("G181-179", 3));
        let points = &arc.control_points;
        assert_eq!(
            (points[0].gantry_deg, points[points.len() - 1].gantry_deg),
            (181.0, 179.0)
        );
        assert_eq!(
            (
                points[0].meterset_weight,
                points[points.len() - 1].meterset_weight
            ),
            (0.0, 1.0)
        );
        for pair in points.windows(2) {
            let step = wrapped_deg(pair[1].gantry_deg - pair[0].gantry_deg);
            assert!(step > 3.0 && step <= 4.0 + 1e-9, "{step}");
        }
    }

    #[test]
    fn weights_keep_the_total_and_the_ratios_of_the_others() {
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = Template::Equispaced(5).beams(&plan, DVec3::ZERO);
        for (beam, mu) in plan.beams.iter_mut().zip([10.0, 20.0, 30.0, 40.0, 1000.0]) {
            beam.mu = mu;
        }
        plan.beams[4].off = true;
        plan.beams[0].mu = 11.0;
        // 10.9, 19.8, 29.7 and 39.6 %.
        assert_eq!(
            plan.whole_percents(),
            [Some(11), Some(20), Some(30), Some(39), None]
        );
        plan.beams[0].mu = 10.0;
        assert_eq!(plan.weight_percent(3), Some(40.0));
        assert_eq!(
            plan.weight_percent(4),
            None,
            "a beam that is off has no share"
        );
        plan.set_weight(3, 70.0);
        let mu: Vec<f64> = plan.beams.iter().map(|b| b.mu).collect();
        for (mu, want) in mu.iter().zip([5.0, 10.0, 15.0, 70.0, 1000.0]) {
            assert!((mu - want).abs() < 1e-9, "{mu} {want}");
        }
        plan.set_weight(3, 100.0);
        plan.set_weight(3, 40.0);
        assert!(
            (plan.beams[0].mu - 20.0).abs() < 1e-9,
            "equal shares where no ratio is left"
        );
        let unchanged = plan.clone();
        for refused in [-1.0, 101.0, f64::NAN] {
            plan.set_weight(0, refused);
        }
        assert_eq!(plan, unchanged);
    }
}
