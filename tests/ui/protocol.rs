//! Plans by protocol: what a protocol finds, one click to leaves, one step to undo.

use crate::harness::{folder, said, until};
use crate::optimise::{plan, planned, status, steps};
use beamsight::app::command::Command;
use beamsight::app::feature::protocol::state::{ProtocolAction, ProtocolDraft};
use beamsight::case::DoseStatus;
use beamsight::files::Delivery;
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use std::fs;

const PROTOCOL: &str = r#"
name = "Ball"
site = "phantom"
source = "made up"
fractions = 4
technique = "step"
[[level]]
target = "Ball"
aliases = ["PTV"]
gy = 2.0
[beams]
fields_deg = [0.0, 90.0]
[[structure]]
name = "Cord outside"
of = "Cord - Ball"
[[goal]]
structure = "Ball"
goal = "D50% >= 2 Gy"
source = "made up"
[[goal]]
structure = "Cord outside"
goal = "Dmean <= 1.5 Gy"
source = "made up"
[[goal]]
structure = "Nose"
goal = "Dmean <= 1 Gy"
source = "made up"
"#;

#[test]
fn a_protocol_makes_a_plan_by_one_click_and_one_step() {
    let mut w = planned("protocol");
    let (before, done) = (plan(w.state()), steps(w.state()));
    let structures = w.state().state.case().structures.structures.len();
    let path = folder("protocol").join("ball.toml");
    fs::write(&path, PROTOCOL).expect("a protocol");
    w.get_by_label("Plan by protocol…").click();
    w.run_steps(2);
    // None of what ships has been drawn here: the box says what was looked for.
    until(&mut w, "an answer", |app| {
        app.state.protocol.prepared.is_some()
    });
    let draft = ProtocolDraft {
        word: "head-neck-70-63-56".to_owned(),
        delivery: None,
    };
    w.state_mut()
        .command(Command::Protocol(ProtocolAction::Draft(draft)));
    until(&mut w, "a refusal", |app| {
        app.state.plan_to_make().is_err() && app.state.protocol.prepared.is_some()
    });
    assert!(
        w.query_by_label_contains("the case has no target 'PTV70'")
            .is_some()
    );
    let draft = ProtocolDraft {
        word: path.display().to_string(),
        delivery: None,
    };
    w.state_mut()
        .command(Command::Protocol(ProtocolAction::Draft(draft.clone())));
    until(&mut w, "a plan to make", |app| {
        app.state.plan_to_make().is_ok()
    });
    assert!(w.query_by_label("'PTV', 2 Gy").is_some());
    assert!(
        w.query_by_label_contains("without a structure in the case: Nose")
            .is_some()
    );
    w.get_by_label("Make plan").click();
    w.run_steps(2);
    until(&mut w, "leaves", |app| {
        let optimise = &app.state.optimise;
        let runs = app.state.optimise.is_running();
        !runs && !optimise.makes_leaves() && !optimise.are_leaves_to_follow() && app.is_settled()
    });
    let made = plan(w.state());
    assert_eq!(
        (made.name.as_str(), made.fractions),
        ("Ball", 4),
        "{}",
        said(&w)
    );
    assert!(made.is_cut(), "{}", said(&w));
    assert_eq!(steps(w.state()), done + 1);
    assert_eq!(
        w.state().state.history.names().last(),
        Some(&"Plan by protocol Ball")
    );
    let case = w.state().state.case();
    let outside = case
        .structures
        .by_name("Cord outside")
        .expect("it was made");
    assert_eq!(outside.made_of.as_deref(), Some("(Cord - PTV)"));
    let goals: Vec<String> = w
        .state()
        .state
        .goals()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        goals,
        [
            "PTV: D50% >= 2 Gy",
            "Cord outside: Dmean <= 1.5 Gy",
            "Nose: Dmean <= 1 Gy"
        ]
    );
    until(&mut w, "dose of the leaves", |app| {
        status(app) == Some(DoseStatus::Final)
    });
    w.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    until(&mut w, "what was before", |app| app.is_settled());
    assert_eq!((plan(w.state()), steps(w.state())), (before, done));
    let case = w.state().state.case();
    assert_eq!(case.structures.structures.len(), structures);
    // Its fields cannot be delivered as arcs, and a file that is no protocol says why.
    w.state_mut()
        .command(Command::Protocol(ProtocolAction::Open(true)));
    w.state_mut()
        .command(Command::Protocol(ProtocolAction::Draft(ProtocolDraft {
            delivery: Some(Delivery::Vmat),
            ..draft.clone()
        })));
    until(
        &mut w,
        "a refusal",
        |app| matches!(&app.state.protocol.prepared, Some(Err(why)) if why.contains("needs arcs")),
    );
    fs::write(&path, "name = 3").expect("a file");
    w.state_mut()
        .command(Command::Protocol(ProtocolAction::Open(true)));
    w.state_mut()
        .command(Command::Protocol(ProtocolAction::Draft(draft)));
    until(
        &mut w,
        "a refusal",
        |app| matches!(&app.state.protocol.prepared, Some(Err(why)) if why.contains("is no protocol")),
    );
    assert!(w.get_by_label("Make plan").accesskit_node().is_disabled());
}
