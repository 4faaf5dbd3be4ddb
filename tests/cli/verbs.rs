//! The program as a user runs it: help, exit codes, one JSON object, files written.

use crate::cross::write_cross_session;
use crate::program::{beamsight, command, json_of, scratch, text};
use crate::skip::{Missing, skip, skip_drawing};
use std::process::{Output, Stdio};

fn words(command: &str) -> Output {
    beamsight(&command.split_whitespace().collect::<Vec<_>>())
}

/// The verbs that a help lists, without `help` itself.
fn verbs_of(help: &[&str]) -> Vec<String> {
    let output = beamsight(help);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let listed = text
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1);
    let listed = listed
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next());
    listed
        .filter(|verb| *verb != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn help_reads_well_and_every_verb_has_examples() {
    let help = words("--help");
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    for part in [
        "Usage:",
        "CASE is a folder",
        "demo:thorax",
        "Examples:",
        "Not for clinical use",
    ] {
        assert!(text.contains(part), "no '{part}' in:\n{text}");
    }
    let verbs = verbs_of(&["--help"]);
    assert!(verbs.len() >= 3, "{verbs:?}");
    for verb in &verbs {
        let help = beamsight(&[verb, "--help"]);
        let text = String::from_utf8_lossy(&help.stdout).into_owned();
        let examples = text
            .split_once("\nExamples:\n")
            .unwrap_or_else(|| panic!("{verb}:\n{text}"))
            .1;
        // Nothing but examples follows, at least two of them of the verb.
        assert!(
            examples
                .lines()
                .all(|line| line.starts_with("  beamsight ")),
            "{verb}:\n{text}"
        );
        assert!(
            examples.matches(&format!("  beamsight {verb}")).count() >= 2,
            "{verb}:\n{text}"
        );
        assert!(
            text.contains("--json") && text.contains("--device"),
            "{verb}:\n{text}"
        );
    }
}

#[test]
fn wrong_words_exit_with_2() {
    for command in [
        "info",
        "info demo:nose",
        "path demo:water --gantry up",
        "path demo:water --isocentre 1,2",
        "path demo:water --sad 0",
        "path demo:water --out depth.png",
        "info demo:water --device gpu",
        "info demo:water --series 0",
        "demo nose --out x",
        "demo water",
        "path demo:water --colour red",
        "dose demo:water --quality best",
        "dose demo:water --grid 0",
        "dose demo:water --engine magic",
        "dose demo:water --out dose.png",
        "drr demo:water --pose 1,2,3",
        "drr demo:water --size 750",
        "drr demo:water --integrator exact --step 1",
        "drr demo:water --integrator nearest",
        "drr demo:water --values attenuation",
        "drr demo:water --pixels 10 --out drr.dcm",
        "drr demo:water --out drr.jpg",
    ] {
        let output = words(command);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command}: {message}");
        assert!(
            message.starts_with("error:") && output.stdout.is_empty(),
            "{command}: {message}"
        );
    }
}

/// A mistyped verb is no case: nothing is opened, computed or drawn.
#[test]
fn a_mistyped_verb_names_the_near_one_and_draws_nothing() {
    let folder = scratch("mistyped");
    for (typed, said) in [
        (&["dsoe"][..], "did you mean 'dose'?"),
        (
            &["dsoe", "demo:water"],
            "there is no verb 'dsoe': did you mean 'dose'?",
        ),
        (&["gama", "--out", "shot.png"], "did you mean 'gamma'?"),
        (&["patient-7"], "the verbs are info, demo"),
    ] {
        let output = command(typed).current_dir(&folder).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{typed:?}: {message}");
        assert!(
            message.starts_with("error: ") && message.contains(said),
            "{typed:?}: {message}"
        );
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Each shell's own parser takes the script, which has every verb and the options of one.
#[test]
fn shells_complete_every_verb() {
    let folder = scratch("completions");
    let verbs = verbs_of(&["--help"]);
    for shell in ["bash", "zsh", "fish"] {
        let output = beamsight(&["completions", shell]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let script = String::from_utf8(output.stdout).unwrap();
        for verb in &verbs {
            let entry = match shell {
                "bash" => format!("beamsight,{verb})"),
                "zsh" => format!("'{verb}:"),
                _ => format!("-a \"{verb}\""),
            };
            assert!(script.contains(&entry), "{shell}: no {entry}");
        }
        let option = if shell == "fish" {
            "-l threshold"
        } else {
            "--threshold"
        };
        assert!(script.contains(option), "{shell}: {option}");
        assert_eq!(
            json_of(&beamsight(&["completions", shell, "--json"]))["shell"],
            shell
        );
        let path = folder.join(shell);
        std::fs::write(&path, script).unwrap();
        match std::process::Command::new(shell)
            .arg("-n")
            .arg(&path)
            .output()
        {
            Ok(parsed) => {
                assert!(
                    parsed.status.success(),
                    "{shell}: {}",
                    String::from_utf8_lossy(&parsed.stderr)
                )
            }
            Err(_) => skip(
                Missing::Program,
                &format!("{shell} is not installed (apt-get install {shell})"),
            ),
        }
    }
    assert_eq!(words("completions tcsh").status.code(), Some(2));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_manual_has_a_page_of_every_verb() {
    let folder = scratch("manual");
    let out = folder.join("man1");
    let written = json_of(&beamsight(&["manual", "--out", text(&out), "--json"]));
    let verbs = verbs_of(&["--help"]);
    let of_machine = verbs_of(&["machine", "--help"])
        .into_iter()
        .map(|verb| format!("machine {verb}"));
    let commands: Vec<String> = verbs.into_iter().chain(of_machine).collect();
    assert!(
        commands.iter().any(|command| command == "machine fit"),
        "{commands:?}"
    );
    for command in &commands {
        let page =
            std::fs::read_to_string(out.join(format!("beamsight-{}.1", command.replace(' ', "-"))))
                .unwrap();
        assert!(
            page.starts_with(".ie") && page.contains(&format!("beamsight {command}")),
            "{command}: {page}"
        );
    }
    let whole = std::fs::read_to_string(out.join("beamsight.1")).unwrap();
    assert!(
        whole.starts_with(".ie") && whole.contains("Not for clinical use"),
        "{whole}"
    );
    let options = std::fs::read_to_string(out.join("beamsight-gamma.1")).unwrap();
    assert!(options.contains("Dose difference, percent"), "{options}");
    assert!(!out.join("beamsight-job.1").exists(), "a hidden verb");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), commands.len() + 1);
    assert_eq!(
        written["files"].as_array().unwrap().len(),
        commands.len() + 1
    );
    assert_eq!(
        beamsight(&["manual", "--out", text(&out)]).status.code(),
        Some(1),
        "nothing is replaced"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// A number out of range, also one with a sign, is refused with a message before anything is opened.
#[test]
fn numbers_that_cannot_be_are_told_what_is_wrong() {
    for (words, said) in [
        ("gamma a b --dose -1", "it must be above 0"),
        ("gamma a b --dose nan", "it is not a number"),
        ("gamma a b --dta -inf", "it is not a number"),
        ("gamma a b --threshold -1", "from 0 to 100"),
        ("gamma a b --norm -3", "above 0"),
        ("gamma a b --max-gamma 1", "from 1.1 to"),
        ("gamma a b --subset -1", "whole number, 1 or more"),
        ("gamma a b --subset 5 --seed -1", "whole number"),
        ("dose a --grid 0", "from 0.5 to 100"),
        ("dose a --grid -2.5", "from 0.5 to 100"),
        ("dose a --grid inf", "not a number"),
        ("dose a --engine mccs --histories -5", "above 0"),
        ("dose a --engine mccs --uncertainty 0", "from 0.01 to 100"),
        ("dose a --engine mccs --seed 1.5", "whole number"),
        ("dose a --engine mccs --directions 0", "from 1 to 24"),
        ("drr a --energy-mev 50", "from 0.01 to 20 MeV"),
        ("drr a --energy-mev -0.07", "from 0.01 to 20 MeV"),
        ("drr a --sad -1000", "from 1 to 100000"),
        ("drr a --sid 0", "from 1 to 100000"),
        ("drr a --gantry 400", "from -360 to 360"),
        ("drr a --couch nan", "not a number"),
        ("drr a --step 1e-9", "from 0.01 to 1000"),
        ("drr a --pixel -0.4", "0.001 to 1000"),
        ("drr a --pixels 0", "1 or more"),
        ("drr a --bone -2", "from 0.01 to 100"),
        ("drr a --bits 12", "8 or 16"),
        ("drr a --pose nan,0,0,0,0,0", "six numbers"),
        ("drr a --isocentre -1,nan,0", "three numbers"),
        ("path a --series -1", "1 or more"),
        (
            "register a --image b --energy-mev 70",
            "from 0.01 to 20 MeV",
        ),
        ("register a --image b --share 2", "from 0.001 to 1"),
        ("register a --image b --reach -1,5", "above 0"),
        ("register a --image b --pixel 0", "from 0.001 to 1000"),
        ("render a --out b.png --grid 0", "from 0.5 to 100"),
        ("render a --out b.png --uncertainty -1", "from 0.1 to 10"),
        ("bench path --runs -1", "from 1 to 10000"),
        ("demo thorax --xray x --seed -1", "whole number"),
    ] {
        let output = self::words(words);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words}: {message}");
        assert!(
            message.starts_with("error: invalid value") && message.contains(said),
            "{words}: {message}"
        );
    }
    for option in [
        "--histories 1e5",
        "--uncertainty 2",
        "--seed 1",
        "--directions 6",
        "--variant own",
        "--sigma s.mha",
    ] {
        let output = self::words(&format!("dose a {option}"));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let name = option.split(' ').next().unwrap_or_default();
        let said = format!("{name} is an option of engines that sample histories: --engine mccs");
        assert!(
            output.status.code() == Some(2) && message.contains(&said),
            "{option}: {message}"
        );
    }
    // One unit everywhere, in the name.
    for verb in ["drr", "register"] {
        let text = String::from_utf8_lossy(&words(&format!("help {verb}")).stdout).into_owned();
        assert!(
            text.contains("--energy-mev <MEV>") && text.contains("[default: 0.07]"),
            "{text}"
        );
    }
    let text = String::from_utf8_lossy(&words("help drr").stdout).into_owned();
    assert!(
        text.contains("the isocentre is the middle of the volume")
            && text.contains("voxels' faces"),
        "{text}"
    );
}

#[test]
fn cuda_is_refused_plainly_where_there_is_none() {
    let output = words("path demo:water --device cuda:1000 --json");
    assert_eq!(output.status.code(), Some(1));
    let error = json_of(&output)["error"].as_str().unwrap().to_owned();
    assert!(
        error.contains("--device cpu") || error.contains("there is no cuda:1000"),
        "{error}"
    );
}

#[test]
fn any_graphics_card_computes_paths_and_what_it_cannot_is_said() {
    let folder = scratch("wgpu");
    let out = |name: &str| text(&folder.join(name)).to_owned();
    let asked = |words: String| beamsight(&words.split_whitespace().collect::<Vec<_>>());
    let path = asked(format!(
        "path demo:water --device wgpu:0 --out {} --json",
        out("depth.mha")
    ));
    if path.status.code() != Some(0) {
        let error = json_of(&path)["error"].as_str().unwrap().to_owned();
        assert!(
            error.contains("no graphics device that computes"),
            "{error}"
        );
        return skip_drawing();
    }
    let device = json_of(&path)["device"].as_str().unwrap().to_owned();
    assert!(device.starts_with("wgpu:0 "), "{device}");
    let image = asked(format!(
        "drr demo:water --size 20x20 --pixel 15 --device wgpu:0 --out {}",
        out("drr.mha")
    ));
    let said = String::from_utf8_lossy(&image.stderr).into_owned()
        + &String::from_utf8_lossy(&image.stdout);
    assert!(
        image.status.code() == Some(0) && said.contains("has no form for graphics devices"),
        "{said}"
    );
    let none = asked("path demo:water --device wgpu:1000 --json".to_owned());
    assert!(
        json_of(&none)["error"]
            .as_str()
            .unwrap()
            .contains("there is no wgpu:1000")
    );
}

#[test]
fn a_bench_prints_its_figures() {
    let output = words("bench path D-IV --runs 1 --device cpu --json");
    assert_eq!(output.status.code(), Some(0));
    let report = json_of(&output);
    assert!(report["copy_gb_per_s"].as_f64().unwrap() > 0.1);
    let rows = report["rows"].as_array().unwrap();
    // 308 x 190 x 56 at a quarter of the resolution in the plane.
    assert_eq!(
        (rows.len(), rows[0]["voxels"].as_u64()),
        (1, Some(77 * 47 * 56))
    );
    assert!(rows[0]["ms"].as_f64().unwrap() > 0.0);
    assert_eq!(words("bench path Z-I").status.code(), Some(2));
    assert_eq!(words("bench no-such-job").status.code(), Some(2));
}

/// No limit of memory is held here: a busy machine has other jobs under way in so short a run.
#[test]
fn memory_after_work_stands_beside_that_of_a_fresh_window() {
    let folder = scratch("memory");
    let case = write_cross_session(&folder);
    let run = [
        "bench",
        "memory",
        text(&case),
        "--minutes",
        "0.02",
        "--device",
        "cpu",
        "--json",
    ];
    let output = beamsight(&run);
    let report = json_of(&output);
    let count = |of: &str, what: &str| report[of][what].as_u64();
    let rounds = count("after_work", "rounds").unwrap_or_else(|| panic!("{report}"));
    // A turn, jaws, a beam more and less, a sphere, a stroke; a plan more, its turn.
    assert_eq!(
        (rounds >= 1, count("after_work", "steps")),
        (true, Some(8 * rounds))
    );
    assert_eq!(
        (count("fresh", "rounds"), count("fresh", "steps")),
        (Some(0), Some(0))
    );
    assert!(count("after_work", "jobs") > count("fresh", "jobs"));
    if !cfg!(target_os = "linux") {
        assert!(report["over"].is_null());
        return;
    }
    let info = json_of(&beamsight(&["info", text(&case), "--json"]));
    let voxels: u64 = info["ct"]["size"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .product();
    let [after, fresh] = ["after_work", "fresh"].map(|of| {
        let [now, most] = ["resident_bytes", "peak_bytes"].map(|what| count(of, what).unwrap());
        // The CT alone has four bytes a voxel.
        assert!(now > 4 * voxels && now <= most, "{of}: {now} of {most}");
        now
    });
    let over = 2 * after > 3 * fresh || after > 2_000_000_000;
    assert_eq!(
        (report["over"].as_bool(), output.status.code()),
        (Some(over), Some(i32::from(over)))
    );
    let wrong = words("bench memory demo:nose");
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(words("bench memory --minutes 601").status.code(), Some(2));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn info_says_what_the_demo_is() {
    let output = words("info demo:tg119 --json");
    assert_eq!(output.status.code(), Some(0));
    let info = json_of(&output);
    assert_eq!(info["ct"]["size"], serde_json::json!([180, 140, 80]));
    assert_eq!(info["ct"]["position"], "HFS");
    let ptv = info["structures"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["name"] == "PTV")
        .unwrap();
    // 240 degrees of a ring of 3.7 and 1.5 cm, 8 cm long.
    let want = 240.0 / 360.0 * std::f64::consts::PI * (3.7f64.powi(2) - 1.5f64.powi(2)) * 8.0;
    let volume = ptv["volume_cm3"].as_f64().unwrap();
    assert!((volume / want - 1.0).abs() < 0.02, "{volume} for {want}");
    assert_eq!(info["plans"][0]["beams"].as_array().unwrap().len(), 9);
    // The same text is on standard error, and on standard output without --json.
    assert!(String::from_utf8_lossy(&output.stderr).contains("PTV"));
    let text = words("info demo:tg119");
    assert!(String::from_utf8_lossy(&text.stdout).contains("180x140x80") && text.stderr.is_empty());
}

/// A cleaner removed a file of the cached demo, and several programs notice at once: each has the whole case,
/// and the last leaves a whole one behind.
#[test]
fn programs_that_mend_a_demo_at_once_do_not_disturb_each_other() {
    let temp = scratch("mended-demo");
    let start = || {
        let mut program = command(&["info", "demo:water", "--json"]);
        program
            .env("BEAMSIGHT_CACHE", &temp)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    let ct = |program: std::process::Child| {
        let output = program.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        json_of(&output)["ct"].clone()
    };
    let whole = ct(start());
    let kept = || {
        let mut folders = std::fs::read_dir(temp.join("demos"))
            .expect("it is there")
            .map(|entry| entry.expect("readable").path());
        let kept = folders.next().expect("the demo was kept");
        assert_eq!(folders.next(), None, "nothing is left beside it");
        kept
    };
    for _ in 0..3 {
        std::fs::remove_file(kept().join("CT0002.dcm")).expect("it is there");
        let programs: Vec<_> = (0..4).map(|_| start()).collect();
        for program in programs {
            assert_eq!(ct(program), whole);
        }
    }
    assert!(kept().join("CT0002.dcm").is_file());
    std::fs::remove_dir_all(temp).expect("nobody is there");
}

/// In water the depth at the isocentre is the distance from the surface: 10 cm from the front, and from the
/// side the half of the cube (relative electron density of water 1).
#[test]
fn path_in_the_water_cube_is_the_way_through_water() {
    let folder = scratch("path");
    let out = folder.join("depth.mha");
    for (angles, isocentre, want) in [
        ("--gantry 0", "0,-50,0", 100.0),
        ("--gantry -90", "-10,0,5", 140.0),
    ] {
        let command = format!(
            "path demo:water {angles} --isocentre {isocentre} --out {} --overwrite --json",
            out.display()
        );
        let output = words(&command);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let depth = json_of(&output)["depth_at_isocentre_mm"].as_f64().unwrap();
        // The air in front adds its thousandth; the isocentre lies between voxel centres.
        assert!((depth - want).abs() < 0.5, "{angles}: {depth} for {want}");
        let header = std::fs::read(&out).unwrap();
        assert!(header.starts_with(b"ObjectType = Image\n") && header.len() > 140 * 140 * 140 * 4);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Depths say that they are no HU. Without that line, as another program's volume, they open, and as HU they are implausible.
#[test]
fn a_written_volume_opens_again() {
    let folder = scratch("again");
    let out = folder.join("depth.mha");
    let path = words(&format!("path demo:water --out {}", out.display()));
    assert_eq!(
        path.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&path.stderr)
    );
    let answer = words(&format!("info {}", out.display()));
    let said = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert!(
        answer.status.code() == Some(1) && said.contains("radiological depth"),
        "{said}"
    );
    let bytes = std::fs::read(&out).unwrap();
    let line = b"Quantity = radiological depth\nUnit = mm of water\n";
    let at = bytes
        .windows(line.len())
        .position(|window| window == line)
        .unwrap();
    std::fs::write(&out, [&bytes[..at], &bytes[at + line.len()..]].concat()).unwrap();
    let info = json_of(&words(&format!(
        "info {} --position FFP --json",
        out.display()
    )));
    assert_eq!(info["ct"]["position"], "FFP");
    assert_eq!(info["ct"]["size"], serde_json::json!([140, 140, 140]));
    assert!(
        info["remarks"][0]["message"]
            .as_str()
            .unwrap()
            .contains("HU")
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_demo_written_out_opens_like_any_case() {
    let folder = scratch("demo");
    let out = folder.join("case");
    let written = json_of(&words(&format!("demo slab --out {} --json", out.display())));
    assert_eq!(written["files"], 142);
    assert!(out.join("plan.toml").is_file());
    let info = json_of(&words(&format!("info {} --json", out.display())));
    assert_eq!(info["ct"]["size"], serde_json::json!([140, 140, 140]));
    assert_eq!(info["structures"].as_array().unwrap().len(), 4);
    let again = words(&format!("demo slab --out {}", out.display()));
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("not empty"));
    let list = words("demo");
    assert!(String::from_utf8_lossy(&list.stdout).contains("demo:thorax"));
    std::fs::remove_dir_all(folder).unwrap();
}
