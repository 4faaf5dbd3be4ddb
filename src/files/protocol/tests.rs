use super::*;

const NECK: &str = r#"
name = "Neck"
site = "head and neck"
fractions = 35
technique = "imrt"
[[level]]
target = "PTV56"
gy = 56.0
[[level]]
target = "PTV70"
aliases = ["PTV High"]
gy = 70.0
[beams]
fields_deg = [0.0, 120.0, 240.0]
[[structure]]
name = "Parotid outside"
of = "Parotid - (PTV70 + PTV56)"
[[goal]]
structure = "PTV70"
goal = "D95% >= 100 %"
[[goal]]
structure = "Cord"
goal = "D0.1cc <= 45 Gy (wish 20 Gy)"
"#;

/// Each shipped protocol is read, says where its numbers are from, and asks something of each of its targets.
#[test]
fn shipped_protocols_are_read() {
    for word in Protocol::shipped() {
        let protocol = Protocol::resolve(word).unwrap_or_else(|e| panic!("{e}"));
        assert!(!protocol.source.is_empty(), "{word}");
        for level in &protocol.levels {
            let mut goals = protocol.goals.goals.iter();
            assert!(
                goals.any(|g| level.is_called(&g.goal.structure)),
                "{word}: {}",
                level.target
            );
        }
        for goal in &protocol.goals.goals {
            assert!(!goal.source.is_empty(), "{word}: {}", goal.goal);
        }
    }
}

#[test]
fn levels_are_ordered_and_found_by_alias() {
    let protocol = Protocol::parse(NECK, "neck.toml").unwrap_or_else(|e| panic!("{e}"));
    let doses_gy: Vec<f64> = protocol.levels.iter().map(|level| level.gy).collect();
    assert_eq!(doses_gy, [70.0, 56.0]);
    assert_eq!(protocol.level_of("ptv_high").map(|l| l.gy), Some(70.0));
    let fields = protocol.beams.of_delivery(Delivery::Step);
    assert_eq!(fields.map(|(fields, ..)| fields.count()), Some(3));
    assert_eq!(protocol.beams.of_delivery(Delivery::Vmat), None);
    assert_eq!(protocol.monitor_units_weight, 1.0);
}

#[test]
fn protocols_that_ask_for_the_impossible_are_refused() {
    for (from, to, want) in [
        (
            "target = \"PTV56\"",
            "target = \"ptv-high\"",
            "two levels are for 'ptv-high': a target has one dose",
        ),
        (
            "technique = \"imrt\"",
            "technique = \"vmat\"",
            "a technique of 'vmat' needs arcs",
        ),
        (
            "gy = 56.0",
            "gy = nan",
            "'the level of PTV56' has NaN, which is not from 0.1 to 1000",
        ),
        (
            "fields_deg = [0.0, 120.0, 240.0]",
            "fields_deg = []",
            "'the number of beams' has 0, which is not from 1 to 30",
        ),
        (
            "[beams]\n",
            "[beams]\ntangents = true\n",
            "[beams] has fields_deg and tangents: leave one out",
        ),
        (
            "[beams]\n",
            "[monitor_units]\nmost_per_gy = 1.0\n[beams]\n",
            "'monitor_units.most_per_gy' has 1, which is not from 100 to 5000",
        ),
        (
            "(PTV70 + PTV56)",
            "(PTV70 + 0 mm)",
            "structure 'Parotid outside': 0 mm is no margin: it must be above 0 and at most 100 mm",
        ),
        (
            "name = \"Parotid outside\"",
            "name = \"PTV 70\"",
            "'PTV 70' is the name of two structures",
        ),
        (
            "structure = \"PTV70\"\ngoal = \"D95% >= 100 %\"",
            "structure = \"PTV56\"\ngoal = \"D95% >= 100 %\"",
            "the goal 'PTV56: D95% >= 100 %' is in percent of the highest dose, and its target has a lower one: give it in Gy",
        ),
        (
            "D95% >= 100 %",
            "D2% <= 75 Gy (wish 70 Gy)",
            "the goal 'PTV70: D2% <= 75 Gy (wish 70 Gy)' has a wish, and its structure is a target: leave the wish out",
        ),
        (
            "fields_deg = [0.0, 120.0, 240.0]",
            "fields_deg = [0.0, 120.0, 240.0]\ncouch_deg = [0.0, 90.0]",
            "2 angles of couch_deg are given for 3 beams: give one for all, or one for each",
        ),
    ] {
        let text = NECK.replacen(from, to, 1);
        assert_ne!(text, NECK, "{from}");
        let refused = Protocol::parse(&text, "neck.toml").map_err(|e| e.to_string());
        assert_eq!(refused.err(), Some(format!("'neck.toml': {want}")));
    }
    let above = NECK.replace("wish 20 Gy", "wish 60 Gy");
    let refused = Protocol::parse(&above, "neck.toml").map_err(|e| e.to_string());
    assert!(refused.is_err_and(|why| why.contains("beyond its limit")));
}

#[test]
fn the_protocol_that_fits_a_case_is_found_by_its_names() {
    use case::{Structure, StructureKind};
    for (names, want) in [
        (&["PTV", "Core"][..], Some("c-shape-50-25")),
        (
            &["PTV70", "PTV63", "PTV56", "Larynx", "SpinalCord"],
            Some("head-neck-70-63-56"),
        ),
        (&["PTV", "Rectum", "Bladder"], Some("prostate-60-20")),
        (&["GTV-1", "Spinal-Cord", "Lung-Left"], Some("lung-60-30")),
    ] {
        let structures = names.iter().zip(1..);
        let structures = structures.map(|(name, n)| Structure::new(*name, n, StructureKind::Organ));
        let set = StructureSet {
            structures: structures.collect(),
            ..StructureSet::default()
        };
        assert_eq!(Protocol::best_shipped(&set), want, "{names:?}");
    }
}
