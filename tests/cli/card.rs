//! A failing card: the CPU computes the answer, with the reason. A fake driver (`fake_driver.c`) makes a real
//! card unnecessary.

use crate::program::{json_of, scratch, text};
use crate::skip::{Missing, skip, skip_drawing};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/fake_driver.c");

/// A folder with the driver, where it can be built.
fn driver(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("libcuda.so.1");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o", text(&library), DRIVER])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        skip(
            Missing::Program,
            "no C compiler (apt-get install gcc libc6-dev)",
        );
        return None;
    }
    std::fs::copy(&library, folder.join("libcuda.so")).unwrap();
    Some(folder.to_owned())
}

/// Runs `beamsight` on the card that fails at `what`.
fn with_card(driver: &Path, what: &str, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_beamsight"))
        .args(words)
        .env("LD_LIBRARY_PATH", driver)
        .env("FAKE_CARD", what)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .expect("the program starts")
}

#[test]
fn a_card_that_fails_leaves_the_answer_to_the_cpu() {
    let folder = scratch("failing-card");
    let Some(driver) = driver(&folder) else {
        return;
    };
    let [depth, image, doses @ ..] = [
        "depth.mha",
        "drr.mha",
        "cone.mha",
        "histories.mha",
        "gamma.mha",
    ]
    .map(|name| folder.join(name));
    let [cone, histories, gamma] = doses.each_ref().map(|path| text(path));
    let (depth, image) = (text(&depth), text(&image));
    for words in [
        &[
            "path",
            "demo:water",
            "--gantry",
            "30",
            "--isocentre",
            "0,0,0",
            "--out",
            depth,
        ][..],
        &[
            "drr",
            "demo:water",
            "--size",
            "60x60",
            "--pixel",
            "5",
            "--out",
            image,
        ],
        &[
            "drr",
            "demo:water",
            "--size",
            "60x60",
            "--pixel",
            "5",
            "--integrator",
            "exact",
            "--out",
            image,
            "--overwrite",
        ],
        &["dose", "demo:water", "--grid", "10", "--out", cone],
        &[
            "dose",
            "demo:water",
            "--grid",
            "10",
            "--engine",
            "mccs",
            "--histories",
            "2e4",
            "--out",
            histories,
        ],
        &[
            "gamma", cone, histories, "--dose", "3", "--dta", "3", "--out", gamma,
        ],
    ] {
        let output = with_card(
            &driver,
            "kernels",
            &[words, &["--device", "cuda", "--json"]].concat(),
        );
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
        assert!(
            said.contains("computed on the CPU: cuda:0 Broken card failed"),
            "{words:?}: {said}"
        );
        assert!(
            said.contains("use --device cpu") && !said.contains("panicked"),
            "{words:?}: {said}"
        );
        assert!(
            json_of(&output).to_string().contains("computed on the CPU"),
            "{words:?}"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_card_that_does_not_open_is_passed_over_unless_it_was_named() {
    let folder = scratch("closed-card");
    let Some(driver) = driver(&folder) else {
        return;
    };
    let out = folder.join("depth.mha");
    let words = [
        "path",
        "demo:water",
        "--gantry",
        "0",
        "--isocentre",
        "0,0,0",
        "--out",
        text(&out),
        "--overwrite",
    ];
    // A card that opens and then fails is passed over, too: it has no dose of the small phantom.
    for (what, why) in [
        ("opening", "failed while opening it"),
        ("kernels", "gives no dose of a small phantom"),
    ] {
        let output = with_card(&driver, what, &words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(
            said.contains("computing on the CPU") && said.contains(why),
            "{said}"
        );
        assert!(
            said.contains("Broken card") && !said.contains("panicked"),
            "{said}"
        );
    }
    let named = with_card(
        &driver,
        "opening",
        &[&words[..], &["--device", "cuda:0"]].concat(),
    );
    let said = String::from_utf8_lossy(&named.stderr).into_owned();
    assert_eq!(named.status.code(), Some(1), "{said}");
    assert!(
        said.starts_with("error: cuda:0 Broken card failed while opening it"),
        "{said}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// In the window, too: the notices of the picture.
#[test]
fn the_window_says_that_the_card_fails() {
    let folder = scratch("failing-card-window");
    let Some(driver) = driver(&folder) else {
        return;
    };
    let picture = folder.join("shot.png");
    for (what, device, words) in [
        ("kernels", "cuda", "A job was computed on the CPU"),
        ("kernels", "auto", "Computing on the CPU"),
        ("opening", "auto", "Computing on the CPU"),
    ] {
        let all = [
            "render",
            "demo:water",
            "--grid",
            "10",
            "--size",
            "800x600",
            "--out",
            text(&picture),
            "--overwrite",
            "--json",
            "--device",
            device,
        ];
        let output = with_card(&driver, what, &all);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.contains("no graphics device") {
            skip_drawing();
            return;
        }
        assert_eq!(output.status.code(), Some(0), "{said}");
        let notices = json_of(&output)["notices"].to_string();
        assert!(
            notices.contains(words) && notices.contains("Broken card"),
            "{what}: {notices}"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}
