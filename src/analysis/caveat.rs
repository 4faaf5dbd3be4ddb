//! Caveats of a dose that are known by their words, and the way out of each: what makes a dose without it.

/// The caveat of a dose whose beams pass matter outside the body. It names no beam: a dose outlives its beam's name.
pub const OUTSIDE_CAVEAT: &str = "matter outside the body not counted";

/// The caveat of a dose whose beams meet the end of the CT where the patient goes on.
pub const BEYOND_CT_CAVEAT: &str = "the patient beyond the end of the CT not counted";

/// The caveat of a dose of fluence maps: it is true, and no machine delivers them as they stand.
pub(super) const FLUENCE_CAVEAT: &str = "fluence, not deliverable";

/// Words that a caveat holds, and its way out.
const WAYS_OUT: [(&str, &str); 14] = [
    (
        "NOT fitted",
        "fit the machine to data that determine its numbers (machine fit), or choose another (--machine)",
    ),
    (
        OUTSIDE_CAVEAT,
        "count it (--body none, 'Everything' in the window), or contour it as a support with the CT's densities ('Couch from CT')",
    ),
    (
        BEYOND_CT_CAVEAT,
        "take a CT that reaches 50 mm past the field, or turn or close the field at that side",
    ),
    (
        FLUENCE_CAVEAT,
        "have leaves deliver it (sequence, 'Leaves' in the window)",
    ),
    (
        "without a density not counted",
        "give it a density among the structures",
    ),
    (
        "outside the CT not counted",
        "draw it within the CT, or take a wider CT",
    ),
    (
        "beyond the CT not counted",
        "draw it within the CT, or take a wider CT",
    ),
    (
        " beams (",
        "switch all beams on, or take those out that are not delivered",
    ),
    (" beams", "take the beams out that no engine computes"),
    (
        " MV as ",
        "choose a machine of the plan's energy (--machine)",
    ),
    (
        "a filter it does not have",
        "choose a machine without flattening filter (--machine)",
    ),
    (
        " HU as ",
        "take an HU table that reaches as far (--hu-table), or give their structure a density",
    ),
    ("take a finer grid", "--grid"),
    (
        "accessory '",
        "give its factor in [trays] of the machine file, and choose that file (--machine)",
    ),
];

/// Advice that leads to a dose without a caveat.
pub fn way_out(caveat: &str) -> &'static str {
    let way_out = WAYS_OUT.iter().find(|(words, _)| caveat.contains(words));
    way_out.map_or(
        "no engine here computes it: take it out, or take the dose of a program that does",
        |(_, way)| *way,
    )
}

/// The ways out of several caveats, each once.
pub fn ways_out(caveats: &[String]) -> String {
    let mut ways: Vec<&str> = Vec::new();
    for way in caveats.iter().map(|caveat| way_out(caveat)) {
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caveat_has_its_own_way_out_once() {
        let caveats = [
            OUTSIDE_CAVEAT,
            "12 mm of a support beyond the CT not counted",
            "a bolus outside the CT not counted",
            "wedge 30 degrees",
        ];
        let ways = ways_out(&caveats.map(str::to_owned));
        for word in [
            "--body none",
            "draw it within the CT",
            "no engine here computes it",
        ] {
            assert_eq!(ways.matches(word).count(), 1, "{ways}");
        }
    }
}
