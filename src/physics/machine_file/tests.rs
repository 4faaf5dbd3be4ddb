use super::*;

#[test]
fn every_shipped_machine_reads() {
    let names = Machine::shipped();
    assert_eq!(names.len(), 9);
    for name in names {
        let m = Machine::resolve(&name).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(m.name, name);
        assert_eq!(m.leaves.is_some(), name != "point-6mv", "{name}");
        assert_eq!(m.delivery.is_some(), name != "point-6mv", "{name}");
    }
}

#[test]
fn point_6mv_is_the_machine_of_the_issue() {
    let m = Machine::resolve("point-6mv").expect("shipped");
    // spectra/README.md: mean energy 1.8985 MeV by number.
    assert!(
        (m.spectrum.mean_energy_mev() - 1.8985).abs() < 1e-3,
        "{}",
        m.spectrum.mean_energy_mev()
    );
    assert_eq!(m.calibration, Calibration::PhotonFluence {});
    assert!(m.extra_focal.is_none() && m.electrons.is_none() && m.focal_sigma_mm == [0.0, 0.0]);
    assert_eq!((m.softening(10.0), m.off_axis.at(150.0)), (1.0, 1.0));
}

/// Each wrong file, and what its message must name.
#[test]
fn wrong_files_say_what_is_wrong_and_where() {
    let good = MACHINES[0].1;
    let cases = [
        ("sad_mm = 1000.0", "sad_mm = nan", vec!["sad_mm", "NaN"]),
        (
            "sad_mm = 1000.0",
            "sad_mm = -5.0",
            vec!["sad_mm", "-5", "from 100 to 5000"],
        ),
        ("sad_mm = 1000.0", "sad = 1000.0", vec!["sad", "README.md"]),
        (
            "transmission = 0.01",
            "transmission = 1.5",
            vec!["jaws.transmission", "1.5"],
        ),
        (
            "mlc = \"millennium120\"",
            "mlc = \"mlc-x\"",
            vec!["mlc-x", "millennium120"],
        ),
        (
            "off_axis = [[0.0, 1.0]",
            "off_axis = [[0.0, 0.5]",
            vec!["off_axis", "0.5", "[0.0, 1.0]"],
        ),
        (
            "off_axis = [[0.0, 1.0]",
            "off_axis = [[99.0, 1.0]",
            vec!["off_axis", "ascend"],
        ),
        ("kind = \"reference\"", "kind = \"magic\"", vec!["magic"]),
        (
            "photons = [",
            "photons = [0.5,",
            vec!["spectrum.photons", "25"],
        ),
        (
            "leaf_speed_mm_s = 25.0",
            "leaf_speed_mm_s = nan",
            vec!["delivery.leaf_speed_mm_s", "NaN"],
        ),
        (
            "min_gap_mm = 0.5",
            "min_gap_mm = -0.5",
            vec!["delivery.min_gap_mm", "-0.5", "from 0 to 20"],
        ),
        (
            "dose_rate_mu_min = 600.0",
            "dose_rate = 600.0",
            vec!["dose_rate", "README.md"],
        ),
        ("max_span_mm = 150.0\n", "", vec!["max_span_mm"]),
        (
            "sad_mm = 1000.0",
            "sad_mm = 1000.0\nleaf_offset_mm = 30.0",
            vec!["leaf_offset_mm", "30", "to 3"],
        ),
        (
            "interdigitates = true",
            "interdigitates = 1",
            vec!["interdigitates", "boolean"],
        ),
    ];
    for (from, to, wants) in cases {
        assert!(good.contains(from), "{from}");
        let e = Machine::parse(&good.replace(from, to), "my.toml")
            .expect_err(to)
            .to_string();
        for want in wants.iter().chain(&["my.toml"]) {
            assert!(e.contains(want), "'{to}' gave: {e}");
        }
    }
    let doubled = good.replacen("photons = [\n  ", "photons = [\n  1", 1);
    let e = Machine::parse(&doubled, "my.toml")
        .expect_err("does not sum to 1")
        .to_string();
    assert!(e.contains("spectrum.photons") && e.contains("sum"), "{e}");
}

#[test]
fn factors_of_trays_and_couch_are_read_and_checked() {
    let couch = "[couch]\nfactor = 0.975\ngantry_deg = ";
    let machine = parsed_with(&format!(
        "[trays]\n\"Tray 1\" = 0.97\nT2 = 1\n{couch}[[110.0, 170.0], [190, 250]]"
    ));
    let machine = machine.expect("a machine");
    assert_eq!(
        machine.trays,
        [("T2".to_owned(), 1.0), ("Tray 1".to_owned(), 0.97)].into()
    );
    let gantry_deg = vec![[110.0, 170.0], [190.0, 250.0]];
    assert_eq!(
        machine.couch,
        Some(CouchFactor {
            factor: 0.975,
            gantry_deg
        })
    );
    for (tables, wants) in [
        (
            "[trays]\nT1 = 97".to_owned(),
            vec!["trays.T1", "97", "from 0.5 to 1"],
        ),
        ("[trays]\nT1 = 0.03".to_owned(), vec!["trays.T1", "0.03"]),
        ("[trays]\nT1 = nan".to_owned(), vec!["trays.T1", "NaN"]),
        (
            "[trays]\n\"\" = 0.97".to_owned(),
            vec!["'trays'", "no identifier"],
        ),
        (
            "[trays]\n\" T1\" = 0.97".to_owned(),
            vec!["' T1'", "without spaces"],
        ),
        (
            "[trays]\nT1 = 0.97\nT1 = 0.98".to_owned(),
            vec!["T1", "duplicate"],
        ),
        ("[couch]\nfactor = 0.975".to_owned(), vec!["gantry_deg"]),
        (
            format!("{couch}[]"),
            vec!["couch.gantry_deg", "no range", "[[110.0, 250.0]]"],
        ),
        (
            format!("{couch}[[250.0, 110.0]]"),
            vec!["couch.gantry_deg", "[250, 110]", "from above"],
        ),
        (
            format!("{couch}[[-110.0, 110.0]]"),
            vec!["couch.gantry_deg", "[-110, 110]"],
        ),
        (
            format!("{couch}[[110.0, nan]]"),
            vec!["couch.gantry_deg", "NaN"],
        ),
        (
            format!("{couch}[[110.0, 200.0], [190.0, 250.0]]"),
            vec!["couch.gantry_deg", "begins at 190"],
        ),
        (format!("{couch}[[110.0, 180.0, 250.0]]"), vec!["README.md"]),
        (
            format!("{couch}[[110.0, 250.0]]").replace("0.975", "2.5"),
            vec!["couch.factor", "2.5"],
        ),
    ] {
        let e = parsed_with(&tables).expect_err(&tables).to_string();
        assert!(
            wants
                .iter()
                .chain(&["my.toml"])
                .all(|want| e.contains(want)),
            "'{tables}' gave: {e}"
        );
    }
}

fn parsed_with(tables: &str) -> Result<Machine, MachineError> {
    Machine::parse(&format!("{}\n{tables}\n", MACHINES[0].1), "my.toml")
}

#[test]
fn leaves_may_be_spelt_out_and_are_checked() {
    let good = MACHINES[0].1.replace("mlc = \"millennium120\"\n", "");
    let table = "\n[mlc]\nname = \"own\"\ndescription = \"\"\ndistance_mm = 500.0\nthickness_mm = 60.0\n\
             end_radius_mm = 80.0\ntransmission = 0.01\ninterleaf_transmission = 0.02\ntongue_mm = 0.3\n\
             boundaries_mm = [-10.0, 0.0, 10.0]\n";
    let m = Machine::parse(&format!("{good}{table}"), "my.toml").expect("a machine");
    assert_eq!(
        m.leaves.map(|l| l.boundaries_mm),
        Some(vec![-10.0, 0.0, 10.0])
    );
    let bad = table.replace("0.0, 10.0]", "0.0, -3.0]");
    let e = Machine::parse(&format!("{good}{bad}"), "my.toml")
        .expect_err("not ascending")
        .to_string();
    assert!(
        e.contains("mlc.boundaries_mm") && e.contains("ascend"),
        "{e}"
    );
    // 12 cm in m; and joints of 1.6 mm x 1000 / 500 between leaves of 2 mm.
    let bad = table.replace("[-10.0, 0.0, 10.0]", "[-0.06, 0.0, 0.06]");
    let e = Machine::parse(&format!("{good}{bad}"), "my.toml")
        .expect_err("in metres")
        .to_string();
    assert!(
        e.contains("mlc.boundaries_mm") && e.contains("leaf pair 1 is 0.060 mm wide"),
        "{e}"
    );
    let bad = table
        .replace("[-10.0, 0.0, 10.0]", "[-2.0, 0.0, 2.0]")
        .replace("tongue_mm = 0.3", "tongue_mm = 1.6");
    let e = Machine::parse(&format!("{good}{bad}"), "my.toml")
        .expect_err("joints overlap")
        .to_string();
    assert!(
        e.contains("mlc.tongue_mm") && e.contains("from 0 to 1"),
        "{e}"
    );
    let bad = table.replace("tongue_mm = 0.3\n", "");
    let e = Machine::parse(&format!("{good}{bad}"), "my.toml")
        .expect_err("incomplete")
        .to_string();
    assert!(e.contains("tongue_mm"), "{e}");
}

#[test]
fn unknown_names_and_paths_are_told_apart() {
    let e = Machine::resolve("generic-7mv")
        .expect_err("unknown")
        .to_string();
    assert!(
        e.contains("generic-7mv") && e.contains("generic-6mv") && e.contains("path"),
        "{e}"
    );
    let e = Machine::resolve("no/such/file.toml")
        .expect_err("unreadable")
        .to_string();
    assert!(e.contains("no/such/file.toml"), "{e}");
}

/// The makers' layouts: pairs, half width, narrow leaves.
#[test]
fn leaf_sides_are_those_of_the_makers() {
    for (name, pairs, half, narrow) in
        [("millennium120", 60, 200.0, 5.0), ("hd120", 60, 110.0, 2.5)]
    {
        let b = shipped_leaves(name, "test").expect("shipped").boundaries_mm;
        assert_eq!(
            (b.len(), b[0], b[pairs]),
            (pairs + 1, -half, half),
            "{name}"
        );
        assert_eq!(b[30], 0.0);
        assert_eq!(b[31] - b[30], narrow);
        assert_eq!(b[1] - b[0], 2.0 * narrow);
        let narrow_leaves = b
            .windows(2)
            .filter(|w| (w[1] - w[0] - narrow).abs() < 1e-9)
            .count();
        assert_eq!(narrow_leaves, if name == "hd120" { 32 } else { 40 });
    }
}
