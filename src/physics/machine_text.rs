//! A machine as the text of its file, with comments of its writer.

use super::machine::{Calibration, Leaves, Machine};
use super::machine_file::shipped_leaves_name;
use input::plain;
use std::fmt::Write as _;

impl Machine {
    /// The text of a machine file. `remarks` gives the comments before a key or a table (`spectrum`, `off_axis`, ...; comments of
    /// the head under an empty key), a line each.
    pub fn to_text(&self, remarks: &dyn Fn(&str) -> Vec<String>) -> String {
        let mut text = String::new();
        write_comment(&mut text, "", remarks);
        let _ = writeln!(text, "name = {}", quoted(&self.name));
        let _ = writeln!(text, "description = {}", quoted(&self.description));
        let _ = writeln!(
            text,
            "nominal_mv = {:?}\nsad_mm = {:?}",
            self.nominal_mv, self.sad_mm
        );
        for (key, sentences) in [
            ("not_fitted", &self.not_fitted),
            ("outside_tolerance", &self.outside_tolerance),
        ] {
            if !sentences.is_empty() {
                let lines: String = sentences
                    .iter()
                    .map(|text| format!("  {},\n", quoted(text)))
                    .collect();
                let _ = writeln!(text, "{key} = [\n{lines}]");
            }
        }
        let leaves = self.leaves.as_ref();
        if let Some(name) = leaves.and_then(shipped_leaves_name) {
            let _ = writeln!(text, "mlc = {}", quoted(name));
        }
        if let Some(leaves) = leaves {
            write_comment(&mut text, "leaf_offset_mm", remarks);
            let _ = writeln!(text, "leaf_offset_mm = {:?}", rounded(leaves.offset_mm));
        }
        for (key, curve) in [("off_axis", &self.off_axis), ("softening", &self.softening)] {
            write_comment(&mut text, key, remarks);
            let points = curve
                .points()
                .iter()
                .map(|p| [rounded(p[0]), rounded(p[1])])
                .collect::<Vec<_>>();
            let _ = writeln!(text, "{key} = {points:?}");
        }
        text.push('\n');
        write_comment(&mut text, "spectrum", remarks);
        let _ = writeln!(
            text,
            "[spectrum]\nenergies_mev = {:?}",
            rounded_values(&self.spectrum.energies_mev)
        );
        let _ = writeln!(
            text,
            "photons = {:?}\n",
            rounded_values(&self.spectrum.photon_weights)
        );
        write_comment(&mut text, "focal_source", remarks);
        let _ = writeln!(
            text,
            "[focal_source]\nsigma_mm = {:?}\n",
            self.focal_sigma_mm.map(rounded)
        );
        if let Some(e) = &self.extra_focal {
            write_comment(&mut text, "extra_focal_source", remarks);
            let _ = writeln!(text, "[extra_focal_source]");
            keys(
                &mut text,
                &[
                    ("distance_mm", e.distance_mm),
                    ("sigma_mm", e.sigma_mm),
                    ("share", e.share),
                ],
            );
        }
        if let Some(e) = &self.electrons {
            write_comment(&mut text, "electrons", remarks);
            let _ = writeln!(text, "[electrons]");
            let values = [
                ("surface_share", e.surface_share),
                ("range_mm", e.range_mm),
                ("falloff_per_mm", e.falloff_per_mm),
                ("sigma_mm", e.sigma_mm),
            ];
            keys(&mut text, &values);
        }
        write_comment(&mut text, "jaws", remarks);
        let j = &self.jaws;
        let _ = writeln!(text, "[jaws]");
        let values = [
            ("x_distance_mm", j.x_distance_mm),
            ("y_distance_mm", j.y_distance_mm),
            ("transmission", j.transmission),
        ];
        keys(&mut text, &values);
        write_comment(&mut text, "calibration", remarks);
        calibration(&mut text, &self.calibration);
        if let Some(d) = &self.delivery {
            write_comment(&mut text, "delivery", remarks);
            let _ = writeln!(text, "\n[delivery]\ninterdigitates = {}", d.interdigitates);
            let values = [
                ("dose_rate_mu_min", d.dose_rate_mu_min),
                ("gantry_speed_deg_s", d.gantry_speed_deg_s),
                ("leaf_speed_mm_s", d.leaf_speed_mm_s),
                ("min_gap_mm", d.min_gap_mm),
                ("max_span_mm", d.max_span_mm),
            ];
            keys(&mut text, &values);
        }
        attenuators(&mut text, self);
        if let Some(leaves) = leaves.filter(|l| shipped_leaves_name(l).is_none()) {
            table_of(&mut text, leaves);
        }
        text
    }
}

fn write_comment(text: &mut String, key: &str, remarks: &dyn Fn(&str) -> Vec<String>) {
    for line in remarks(key) {
        let _ = writeln!(text, "{}", format!("# {}", plain(&line)).trim_end());
    }
}

fn rounded_values(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| rounded(*v)).collect::<Vec<_>>()
}

fn keys(text: &mut String, values: &[(&str, f64)]) {
    for (key, value) in values {
        let _ = writeln!(text, "{key} = {:?}", rounded(*value));
    }
    text.push('\n');
}

fn calibration(text: &mut String, calibration: &Calibration) {
    let _ = writeln!(text, "[calibration]");
    match calibration {
        Calibration::PhotonFluence {} => text.push_str("kind = \"photon_fluence\"\n"),
        Calibration::Reference {
            field_mm,
            ssd_mm,
            depth_mm,
            gy_per_mu,
        } => {
            let _ = writeln!(text, "kind = \"reference\"\nfield_mm = {field_mm:?}");
            keys(
                text,
                &[
                    ("ssd_mm", *ssd_mm),
                    ("depth_mm", *depth_mm),
                    ("gy_per_mu", *gy_per_mu),
                ],
            );
        }
    }
}

/// Factors of trays and couch.
fn attenuators(text: &mut String, machine: &Machine) {
    if !machine.trays.is_empty() {
        let trays: toml::Table = machine
            .trays
            .iter()
            .map(|(id, factor): (&String, &f64)| {
                (plain(id).into_owned(), toml::Value::Float(rounded(*factor)))
            })
            .collect();
        let _ = writeln!(text, "\n[trays]\n{trays}");
    }
    if let Some(couch) = &machine.couch {
        let _ = writeln!(text, "\n[couch]\nfactor = {:?}", rounded(couch.factor));
        let _ = writeln!(text, "gantry_deg = {:?}", couch.gantry_deg);
    }
}

fn table_of(text: &mut String, leaves: &Leaves) {
    let _ = writeln!(text, "\n[mlc]\nname = {}", quoted(&leaves.name));
    let _ = writeln!(text, "description = {}", quoted(&leaves.description));
    let values = [
        ("distance_mm", leaves.distance_mm),
        ("thickness_mm", leaves.thickness_mm),
        ("end_radius_mm", leaves.end_radius_mm),
        ("transmission", leaves.transmission),
        ("interleaf_transmission", leaves.interleaf_transmission),
        ("tongue_mm", leaves.tongue_mm),
    ];
    values.iter().for_each(|(key, value)| {
        let _ = writeln!(text, "{key} = {value:?}");
    });
    let _ = writeln!(text, "boundaries_mm = {:?}", leaves.boundaries_mm);
}

fn quoted(words: &str) -> String {
    toml::Value::String(plain(words).into_owned()).to_string()
}

/// Six significant digits: more say nothing of a measured beam.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CouchFactor;

    /// Every shipped machine, and one with leaves that no shipped one has, is what its text says, within the six digits.
    #[test]
    fn a_text_is_read_back_as_its_machine() {
        let mut machines: Vec<Machine> = Machine::shipped()
            .iter()
            .map(|n| (*Machine::resolve(n).unwrap()).clone())
            .collect();
        let mut changed = machines[0].clone();
        changed.name = "a \"quoted\"\nname".to_owned();
        changed.leaves.as_mut().unwrap().tongue_mm = 0.7;
        changed.delivery.as_mut().unwrap().interdigitates = false;
        changed.not_fitted = vec![
            "focal-x stopped at \"0.2\"".to_owned(),
            "electron-share stopped".to_owned(),
        ];
        changed.outside_tolerance = vec!["depth dose of 60 mm".to_owned()];
        changed.trays = [
            ("T1", 0.97),
            ("a \"tray\" of 'mine'", 0.5),
            ("[x] = 1 #", 1.0),
        ]
        .map(|(id, f)| (id.to_owned(), f))
        .into();
        changed.couch = Some(CouchFactor {
            factor: 0.975,
            gantry_deg: vec![[110.0, 170.5], [190.0, 250.0]],
        });
        machines.push(changed);
        for machine in machines {
            let text = machine.to_text(&|key| vec![format!("on '{key}'\nname = 3")]);
            let read = Machine::parse(&text, "written").unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(read.name, plain(&machine.name));
            assert_eq!(
                (&read.leaves, read.calibration),
                (&machine.leaves, machine.calibration)
            );
            assert_eq!(read.delivery, machine.delivery);
            assert_eq!((&read.trays, &read.couch), (&machine.trays, &machine.couch));
            assert_eq!(read.not_fitted, machine.not_fitted);
            assert_eq!(read.outside_tolerance, machine.outside_tolerance);
            assert_eq!(
                (&read.off_axis, read.electrons),
                (&machine.off_axis, machine.electrons)
            );
            assert_eq!(
                (read.focal_sigma_mm, read.extra_focal),
                (machine.focal_sigma_mm, machine.extra_focal)
            );
            let pairs = read
                .spectrum
                .photon_weights
                .iter()
                .zip(&machine.spectrum.photon_weights);
            assert!(
                pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-5,
                "{text}"
            );
        }
    }
}
