//! Water: the same dose as collapsed cone, and as Monte Carlo.

use crate::phantom::{block, csv, cube, dose, machine, on_axis};
use crate::{request, run};
use beamsight::case::{Beam, Jaws};
use beamsight::engine::cccs::Quality;
use glam::DVec3;

#[test]
fn explore() {
    let table = csv("mc_water10/water10_dd.csv").unwrap();
    let water = cube(0.0);
    let machine = machine("point-6mv");
    let cccs = dose(&crate::phantom::request(&water, &machine, 100.0, Quality::Full));
    let beam = Beam::fixed("beam", 1, 0.0, DVec3::ZERO, Jaws::symmetric(100.0, 100.0), 1.0);
    let asked = request(&water, vec![(beam.clone(), machine.clone())], 8_000_000);
    let got = run(&asked);
    println!("{:?} {:?} {:?}", got.receipt.phases_ms, got.uncertainty_percent, got.status);
    let mean = |v: &beamsight::geometry::Volume<f32>, depth: f64, h: f64| {
        let mut s = 0.0;
        for i in 0..8 {
            for j in 0..8 {
                let o = |n: i32| (f64::from(n) / 3.5 - 1.0) * h;
                s += f64::from(v.trilinear(DVec3::new(o(i), depth, o(j))).unwrap());
            }
        }
        s / 64.0
    };
    let mut low = 1.5;
    while low < 28.0 {
        let high = (low + 2.0_f64).min(28.0);
        let mut s = [0.0; 4];
        let mut n = 0.0;
        for r in table.iter().filter(|r| r[0] >= low - 1e-9 && r[1] <= high + 1e-9) {
            let d = 5.0 * (r[0] + r[1]);
            s[0] += mean(&got.gy, d, 5.0) / r[2];
            s[1] += mean(&cccs.gy, d, 5.0) / r[2];
            s[2] += mean(&got.gy, d, 25.0) / mean(&cccs.gy, d, 25.0);
            n += 1.0;
        }
        println!(
            "{:5.2}: mccs/MC {:.4} cccs/MC {:.4} mccs/cccs over 5x5 cm {:.4}",
            0.5 * (low + high),
            s[0] / n,
            s[1] / n,
            s[2] / n
        );
        low = high;
    }
}
