use super::super::{SumDifference, TargetDoses};
use super::*;

fn item(name: &str, passing: usize, outside: usize, recomputed_gy: f64) -> Item {
    let gamma = GammaAgreement {
        points: 1000,
        passing,
        outside,
        outside_fails: true,
        ..Default::default()
    };
    let back = GammaAgreement {
        points: 1000,
        passing: 1000,
        high_points: 500,
        ..Default::default()
    };
    let point = PointAgreement {
        place: "the isocentre".to_owned(),
        point_mm: [0.0; 3],
        planned_gy: 2.0,
        recomputed_gy,
    };
    let agreement = Some(Agreement {
        gamma: Some(gamma),
        gamma_back: Some(back),
        normalisation_gy: 2.0,
        greatest_gy: [2.1, 2.1],
        point: Some(point),
    });
    Item {
        name: name.to_owned(),
        mu: 100.0,
        agreement,
        ..Item::default()
    }
}

fn judgement_of(plan: &Item, beams: &[Item], fractions: u32, changed_here: &[String]) -> Judgement {
    let limits = &Tolerances::default();
    judge(Figures {
        whole: plan,
        beams,
        beam_sum: None,
        fractions,
        limits,
        changed_here,
    })
}

fn verdict(plan: &Item, beams: &[Item]) -> (Verdict, String) {
    let judged = judgement_of(plan, beams, 1, &[]);
    (judged.verdict, judged.reasons.join(" "))
}

#[test]
fn limits_count_as_within_and_each_figure_beyond_them_is_named() {
    // 95 % of points and 3 % of dose are just within; TG-218 and MPPG 5.b.
    for (passing, gy) in [(1000, 2.0), (950, 2.06), (950, 1.94)] {
        assert_eq!(
            verdict(&item("the plan", passing, 0, gy), &[]),
            (Verdict::Within, String::new())
        );
    }
    for (passing, gy, says) in [
        (
            949,
            2.0,
            "passes at 94.9 % of the points of the planned dose, beyond tolerance of 95 %",
        ),
        (
            1000,
            2.0604,
            "differs by +3.02 % (2.000 Gy planned, 2.060 Gy recomputed), beyond tolerance of 3 %",
        ),
        (
            1000,
            2.1001,
            "differs by +5.005 % (2.000 Gy planned, 2.100 Gy recomputed), beyond the action level",
        ),
        (899, 2.0, "beyond the action level of 90 %"),
        (
            1000,
            2.08,
            "differs by +4.0 % (2.000 Gy planned, 2.080 Gy recomputed), beyond tolerance of 3 %",
        ),
        (
            1000,
            1.8,
            "differs by -10.0 % (2.000 Gy planned, 1.800 Gy recomputed), beyond the action level of 5 %",
        ),
    ] {
        let (verdict, why) = verdict(
            &item("the plan", passing, 0, gy),
            &[item("beam 'A'", 1000, 0, 2.0)],
        );
        assert_eq!(verdict, Verdict::Outside);
        assert!(why.starts_with("The plan: ") && why.contains(says), "{why}");
    }
}

#[test]
fn a_beam_alone_fails_the_plan() {
    let (verdict, why) = verdict(
        &item("the plan", 1000, 0, 2.0),
        &[item("beam 'A'", 1000, 0, 2.2)],
    );
    assert_eq!(verdict, Verdict::Outside);
    assert!(
        why.starts_with("Beam 'A': the dose at the isocentre differs by +10.0 %"),
        "{why}"
    );
}

#[test]
fn what_is_not_judged_never_passes() {
    let good = item("the plan", 1000, 0, 2.0);
    let wedge = Item {
        agreement: None,
        not_judged: vec!["It has a wedge.".to_owned()],
        ..good.clone()
    };
    assert_eq!(
        verdict(&good, std::slice::from_ref(&wedge)),
        (Verdict::NotJudged, "It has a wedge.".to_owned())
    );
    // A failing figure beside it is told, and does not make the plan judged.
    let (open, why) = verdict(&item("the plan", 100, 0, 2.0), std::slice::from_ref(&wedge));
    assert!(
        open == Verdict::NotJudged && why.contains("wedge") && why.contains("10.0 %"),
        "{why}"
    );
    let because = Item {
        agreement: None,
        not_judged: vec!["Not compared.".to_owned()],
        ..good.clone()
    };
    let judged = judgement_of(&because, std::slice::from_ref(&wedge), 1, &[]);
    assert_eq!(
        judged.reasons,
        ["It has a wedge.", "Not compared."],
        "the cause goes first"
    );
    let nothing = Item {
        agreement: None,
        ..good.clone()
    };
    assert_eq!(verdict(&nothing, &[]).0, Verdict::NotJudged);
    assert_eq!(
        verdict(&nothing, std::slice::from_ref(&good)).0,
        Verdict::NotJudged
    );
    let half = Agreement {
        gamma: None,
        ..good.agreement.clone().unwrap()
    };
    assert_eq!(
        verdict(
            &Item {
                agreement: Some(half),
                ..good.clone()
            },
            &[]
        )
        .0,
        Verdict::NotJudged
    );
    let none = Item {
        agreement: Some(Agreement::default()),
        ..item("beam 'B'", 0, 0, 0.0)
    };
    assert_eq!(verdict(&good, &[none]).0, Verdict::NotJudged);
}

/// A contradiction is known to be wrong, also beside what could not be judged.
#[test]
fn a_contradiction_fails_whatever_is_open() {
    let nothing = || Item {
        agreement: None,
        wrong: vec!["It delivers nothing.".to_owned()],
        ..Item::default()
    };
    assert_eq!(
        verdict(&nothing(), &[]),
        (Verdict::Outside, "It delivers nothing.".to_owned())
    );
    let open = Item {
        not_judged: vec!["It has a wedge.".to_owned()],
        ..nothing()
    };
    let (outcome, why) = verdict(&open, &[]);
    assert_eq!(
        (outcome, why.as_str()),
        (Verdict::Outside, "It delivers nothing. It has a wedge.")
    );
    let plan = item("the plan", 1000, 0, 2.0);
    let limits = &Tolerances::default();
    let worst = SumDifference {
        point_mm: [0.0; 3],
        planned_gy: 2.06,
        sum_gy: 2.0,
    };
    let sum = |worst| BeamSum {
        beams: 2,
        worst,
        ..BeamSum::default()
    };
    let judged = |sum: &BeamSum| {
        let beam_sum = Some(sum);
        judge(Figures {
            whole: &plan,
            beams: &[],
            beam_sum,
            fractions: 1,
            limits,
            changed_here: &[],
        })
    };
    assert_eq!(judged(&sum(None)).verdict, Verdict::Within);
    let off = judged(&sum(Some(worst)));
    assert!(
        off.verdict == Verdict::Outside
            && off.reasons[0].contains("not the sum of its 2 beam doses"),
        "{off:?}"
    );
}

#[test]
fn numbers_that_are_none_are_not_judged() {
    let with = |planned_gy, recomputed_gy| {
        let mut plan = item("the plan", 1000, 0, recomputed_gy);
        plan.agreement
            .as_mut()
            .unwrap()
            .point
            .as_mut()
            .unwrap()
            .planned_gy = planned_gy;
        verdict(&plan, &[]).0
    };
    for [planned, recomputed] in [
        [0.0, 1.0],
        [2.0, f64::NAN],
        [f64::NAN, 2.0],
        [2.0, f64::INFINITY],
        [-1.0, -1.0],
    ] {
        assert_eq!(
            with(planned, recomputed),
            Verdict::NotJudged,
            "{planned} {recomputed}"
        );
    }
    let mut empty = item("the plan", 0, 0, 2.0);
    empty
        .agreement
        .as_mut()
        .unwrap()
        .gamma
        .as_mut()
        .unwrap()
        .points = 0;
    assert_eq!(verdict(&empty, &[]).0, Verdict::NotJudged);
}

#[test]
fn points_that_nothing_reaches_fail_and_many_of_them_leave_the_plan_open() {
    // 1000 points pass, and of all 1050 these are 95.2 %; of 1060 fewer than 95 %.
    assert_eq!(
        verdict(&item("the plan", 1000, 50, 2.0), &[]).0,
        Verdict::Within
    );
    assert_eq!(
        verdict(&item("the plan", 990, 52, 2.0), &[]).0,
        Verdict::Outside
    );
    let (open, why) = verdict(&item("the plan", 1000, 60, 2.0), &[]);
    assert!(
        open == Verdict::NotJudged && why.contains("5.7 % of its planned dose lies where nothing"),
        "{why}"
    );
}

/// The same the other way: what the planned dose lacks has no points in it.
#[test]
fn the_recomputed_dose_must_be_found_in_the_planned_one() {
    let with = |change: &dyn Fn(&mut Agreement, &mut GammaAgreement)| {
        let mut plan = item("the plan", 1000, 0, 2.0);
        let agreement = plan.agreement.as_mut().unwrap();
        let mut back = agreement.gamma_back.unwrap();
        change(agreement, &mut back);
        agreement.gamma_back = Some(back);
        judgement_of(&plan, &[], 1, &[])
    };
    for (judged, verdict, says) in [
        (
            with(&|_, back| back.passing = 940),
            Verdict::Outside,
            "94.0 % of the points of the recomputed dose",
        ),
        (
            with(&|_, back| back.far_cm3 = 8.0),
            Verdict::Outside,
            "8.0 cm3 of its recomputed high dose",
        ),
        (
            with(&|_, back| back.outside = 60),
            Verdict::NotJudged,
            "5.7 % of the recomputed dose from 10 % on lies",
        ),
        (
            with(&|_, back| back.high_outside = 6),
            Verdict::NotJudged,
            "1.2 % of the recomputed high dose (from 1.000 Gy on)",
        ),
        (
            with(&|a, _| a.greatest_gy = [6.4, 2.0]),
            Verdict::Outside,
            "6.400 Gy, is 3.2 times the greatest recomputed",
        ),
    ] {
        assert!(
            judged.verdict == verdict && judged.reasons.join(" ").contains(says),
            "{judged:?}"
        );
    }
    // A target that is too small to count among the points.
    for (mean_gy, expected) in [
        ([0.1, 2.0], Verdict::Outside),
        ([1.9, 2.0], Verdict::Within),
        ([0.01, 0.1], Verdict::Within),
    ] {
        let targets = vec![TargetDoses {
            name: "M2".to_owned(),
            mean_gy,
        }];
        let plan = Item {
            targets,
            ..item("the plan", 1000, 0, 2.0)
        };
        let (outcome, why) = verdict(&plan, &[]);
        assert_eq!(
            (outcome, why.contains("target 'M2'")),
            (expected, expected == Verdict::Outside),
            "{why}"
        );
    }
    let few = with(&|_, back| back.outside = 50);
    assert_eq!(few.verdict, Verdict::Within);
    assert!(
        few.words()
            .starts_with("within tolerance; 50 of 1050 points of the recomputed dose (4.8 %)"),
        "{few:?}"
    );
    let mut one_way = item("the plan", 1000, 0, 2.0);
    one_way.agreement.as_mut().unwrap().gamma_back = None;
    assert_eq!(verdict(&one_way, &[]).0, Verdict::NotJudged);
}

#[test]
fn what_is_not_of_the_files_stands_in_the_verdict() {
    let created = ["bolus 'B1'".to_owned()];
    let judged = judgement_of(&item("the plan", 1000, 0, 2.0), &[], 1, &created);
    assert_eq!(judged.verdict, Verdict::Within);
    assert!(
        judged.words().contains("within tolerance; ") && judged.words().contains("bolus 'B1'"),
        "{judged:?}"
    );
}

#[test]
fn the_dose_of_one_fraction_is_recognised() {
    let plan = item("the plan", 0, 0, 2.0 * 24.0);
    let judged = judgement_of(&plan, &[], 25, &[]);
    assert_eq!(judged.verdict, Verdict::NotJudged);
    assert!(
        judged.reasons[0].contains("about one of 25 fractions"),
        "{:?}",
        judged.reasons
    );
    // One fraction in all: a double dose is a double dose.
    assert_eq!(
        judgement_of(&item("the plan", 0, 0, 4.0), &[], 1, &[]).verdict,
        Verdict::Outside
    );
}

#[test]
fn the_worst_of_several_plans_is_the_one_known_to_be_wrong() {
    use Verdict::{NotJudged, Outside, Within};
    assert_eq!(
        [
            Within.worst(NotJudged),
            NotJudged.worst(Outside),
            Outside.worst(NotJudged)
        ],
        [NotJudged, Outside, Outside]
    );
    assert_eq!(Within.worst(Within), Within);
}
