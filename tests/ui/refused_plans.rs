//! Plans and beams that are not computed: the window gives the reason.

use crate::harness::{until, window};
use crate::synthetic::{Folder, fixed, plan, set, set_items, slice};
use beamsight::app::Options;
use dicom_core::VR;
use dicom_dictionary_std::tags;
use egui_kittest::kittest::Queryable as _;

#[test]
fn the_reason_for_a_refused_plan_or_beam_is_shown() {
    let mut nameless = fixed("1", &[]);
    set(&mut nameless, tags::BEAM_NUMBER, VR::IS, "one");
    let mut unreadable = plan(vec![fixed("1", &[])]);
    set_items(&mut unreadable, tags::BEAM_SEQUENCE, vec![nameless]);
    let far = plan(vec![fixed(
        "1",
        &[(tags::SOURCE_AXIS_DISTANCE, VR::DS, "800")],
    )]);
    for (object, shown, words) in [
        (
            unreadable,
            None,
            "its BeamNumber is 'one', which is no number",
        ),
        (
            far,
            Some("PLAN"),
            "Not computed: beam 'Fixed 1': its SourceAxisDistance is 800 mm",
        ),
    ] {
        let folder = Folder::new("ui-refused-plans");
        for n in 0..3 {
            folder.put(&format!("ct{n}"), &slice(n, f64::from(n), 0));
        }
        folder.put("rp.dcm", &object);
        let case = Some(folder.0.display().to_string());
        let mut w = window(Options {
            case,
            ..Options::default()
        });
        until(&mut w, "case", |app| app.state.is_loaded());
        if let Some(name) = shown {
            w.get_all_by_label(name)
                .next()
                .expect("the plan in the tree")
                .click();
            w.run_steps(3);
        }
        assert!(
            w.query_all_by_label_contains(words).count() >= 1,
            "no '{words}' in the window"
        );
    }
}
