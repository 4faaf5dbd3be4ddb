//! The order of jobs, by what is on show.

use super::*;
use crate::state::results::of_side;
use analysis::Side;
use results::{
    AttenuationOf, ClearanceOf, Densities, DoseOfPlan, DvhOf, EstimateOfGamma, FiguresOfGamma,
    GammaOfPair, IsodoseOf, MachineOf, MaskOf, MetricAtPose, MetricOf, Query, RayOfBeam, ResultKey,
    Results, SurfaceOf,
};

/// A kind of result: its entry, whether a job is for it, and its word.
type Kind = (
    fn(&mut Results, ResultKey),
    fn(&JobTarget) -> bool,
    &'static str,
);

fn kind<Q: Query>(word: &'static str) -> Kind {
    (
        |results, key| _ = results.entry::<Q>(key),
        JobTarget::is::<Q>,
        word,
    )
}

/// All kinds, in no order.
fn kinds() -> [Kind; 19] {
    [
        kind::<FiguresOfGamma>("figures"),
        kind::<GammaOfPair>("gamma"),
        kind::<EstimateOfGamma>("estimate"),
        kind::<IsodosesOf>("never asked for"),
        kind::<IsodoseOf>("isodose"),
        kind::<DvhOf>("DVH"),
        kind::<TextureOf>("texture"),
        kind::<DoseOfPlan>("dose"),
        kind::<DoseOfBeam>("beam"),
        kind::<RunOfPlan>("run"),
        kind::<RayOfBeam>("ray"),
        kind::<Densities>("densities"),
        kind::<ClearanceOf>("clearance"),
        kind::<SurfaceOf>("surface"),
        kind::<MetricAtPose>("pose"),
        kind::<MetricOf>("metric"),
        kind::<AttenuationOf>("attenuation"),
        kind::<MaskOf>("mask"),
        kind::<MachineOf>("machine"),
    ]
}

/// All kinds of the displayed plan, doses and DVHs also of A, B and the maps.
fn results() -> Results {
    let mut results = Results::default();
    kinds()
        .iter()
        .for_each(|(make, ..)| make(&mut results, (DISPLAYED, 1)));
    for group in [MAPS, of_side(Side::B), of_side(Side::A)] {
        results.entry::<DvhOf>((group, 2));
        results.entry::<DoseOfPlan>((group, 0));
    }
    results
}

fn word(target: JobTarget) -> String {
    let kind = kinds()
        .into_iter()
        .find(|(_, is, _)| is(&target))
        .map_or("?", |(.., word)| word);
    let group = ["A's ", "B's ", "", "maps' "][usize::from(target.at.0)];
    let grade = if target.grade == Grade::Preview {
        "quick "
    } else {
        ""
    };
    format!("{grade}{group}{kind}")
}

/// The jobs of a frame, in order; `is_busy`: quick ones are under way.
fn jobs(demand: Demand, is_busy: bool) -> String {
    let jobs = results().jobs().into_iter().filter(|(priority, target)| {
        demand.wants(*priority, *target) && !demand.waits(*priority, *target, || is_busy)
    });
    let words: Vec<String> = jobs.map(|(_, target)| word(target)).collect();
    words.join(", ")
}

#[test]
fn jobs_go_by_their_priorities() {
    let first = "machine, mask, surface, clearance, densities, ray";
    let previews =
        "quick beam, quick dose, quick texture, quick DVH, quick isodose, quick estimate";
    let sides = "A's dose, A's DVH, B's dose, B's DVH";
    let quick_sides = "quick A's dose, quick A's DVH, quick B's dose, quick B's DVH";
    let last = "isodose, gamma, figures";
    let plan = Demand {
        shows_plan: true,
        has_beams: true,
        ..Demand::default()
    };
    let pair = Demand {
        compares: true,
        ..plan
    };
    let drag = Demand {
        moving: true,
        ..plan
    };
    let register = Demand {
        registers: true,
        ..plan
    };
    let of_pair = "run, beam, A's dose, A's DVH, B's dose, B's DVH, dose, texture, DVH, maps' dose, maps' DVH";
    let table = [
        (
            plan,
            format!(
                "{first}, {previews}, run, beam, dose, texture, DVH, maps' dose, maps' DVH, {last}"
            ),
        ),
        (
            Demand {
                has_run: true,
                ..plan
            },
            format!("{first}, {previews}, run, dose, texture, DVH, maps' dose, maps' DVH, {last}"),
        ),
        (
            drag,
            format!("{first}, {previews}, run, beam, dose, texture, DVH, {last}"),
        ),
        (
            Demand {
                has_run: true,
                ..drag
            },
            format!("{first}, {previews}"),
        ),
        (
            Demand {
                is_quick: true,
                ..drag
            },
            format!("{first}, quick estimate, run, beam, dose, texture, DVH, {last}"),
        ),
        (
            Demand {
                shows_plan: false,
                has_beams: false,
                ..pair
            },
            format!(
                "machine, mask, surface, clearance, {quick_sides}, quick isodose, quick estimate, {sides}, maps' dose, \
                 maps' DVH, {last}"
            ),
        ),
        (
            pair,
            format!(
                "{first}, quick beam, {quick_sides}, quick dose, quick texture, quick DVH, quick isodose, \
                 quick estimate, {of_pair}, {last}"
            ),
        ),
        (
            Demand {
                is_quick: true,
                ..pair
            },
            format!("{first}, {quick_sides}, quick estimate, {of_pair}, {last}"),
        ),
        (
            register,
            "machine, mask, attenuation, metric, quick pose".to_owned(),
        ),
        (
            Demand {
                searches: true,
                ..register
            },
            "machine, mask, attenuation, metric".to_owned(),
        ),
    ];
    for (demand, expected) in table {
        assert_eq!(jobs(demand, false), expected, "{demand:?}");
    }
    assert_eq!(
        jobs(drag, true),
        format!("{first}, {previews}"),
        "full doses wait for quick jobs"
    );
}
