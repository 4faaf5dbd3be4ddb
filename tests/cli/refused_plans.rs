//! Plans and beams that cannot be computed: the user gets the reason.

use crate::program::{refused, text};
use crate::synthetic::{Folder, fixed, plan, set, set_items, slice};
use dicom_core::VR;
use dicom_dictionary_std::tags;

#[test]
fn dose_gives_the_reason_why_there_is_no_plan_or_no_beam() {
    let folder = Folder::new("refused-plans");
    folder.put("ct1.dcm", &slice(1, 0.0, 0));
    folder.put("ct2.dcm", &slice(2, 1.0, 0));
    refused(&["dose", text(&folder.0)], &["has no plan of its own", "--plan"]);

    let mut nameless = fixed("1", &[]);
    nameless.remove_element(tags::BEAM_NUMBER);
    set(&mut nameless, tags::BEAM_NUMBER, VR::IS, "one");
    let mut object = plan(vec![fixed("1", &[])]);
    set_items(&mut object, tags::BEAM_SEQUENCE, vec![nameless]);
    folder.put("rp.dcm", &object);
    refused(&["dose", text(&folder.0)], &["rp.dcm", "its BeamNumber is 'one', which is no number", "--plan"]);

    let beams = vec![
        fixed("1", &[(tags::SOURCE_AXIS_DISTANCE, VR::DS, "800")]),
        fixed("2", &[(tags::RADIATION_TYPE, VR::CS, "ELECTRON")]),
    ];
    folder.put("rp.dcm", &plan(beams));
    refused(
        &["dose", text(&folder.0)],
        &["beam 'Fixed 1': its SourceAxisDistance is 800", "beam 'Fixed 2': electrons are not computed"],
    );
}
