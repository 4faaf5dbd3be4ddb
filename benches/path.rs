//! Radiological depth on this machine's cores against the figures of de Greef et al. 2009 (Tables V to VII).
//!
//!     cargo bench --bench path            # or only some: -- C-I A

#[path = "../tests/common/degreef.rs"]
mod degreef;

use beamsight::engine::Watch;
use beamsight::engine::cpu::path::radiological_depth;
use degreef::{CASES, GEOMETRIES};
use std::time::Instant;

/// Seconds the paper gives: four CPU threads, and a GeForce GTX 280. `None` where it has no figure.
const PAPER_S: [[Option<(f64, f64)>; 5]; 4] = [
    [Some((7.52, 0.85)), Some((1.31, 0.15)), Some((0.21, 0.02)), Some((0.18, 0.02)), None],
    [Some((2.22, 0.47)), Some((0.44, 0.06)), Some((0.10, 0.01)), Some((0.10, 0.01)), None],
    [Some((5.98, 1.82)), Some((1.12, 0.41)), Some((0.18, 0.06)), Some((0.17, 0.08)), Some((4.61, 1.75))],
    [None; 5],
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    println!("radiological depth, {} threads", rayon::current_num_threads());
    println!("case      voxels       ms  ns/voxel   paper: 4 CPU threads   GTX 280");
    for (geometry, paper) in GEOMETRIES.iter().zip(PAPER_S) {
        for (case, paper) in CASES.iter().zip(paper) {
            let name = format!("{}-{}", geometry.name, case.name);
            let chosen = wanted.is_empty() || wanted.iter().any(|word| name.starts_with(word));
            if !chosen || case.name == "V" && geometry.name != 'C' {
                continue;
            }
            let density = geometry.density(case.resampling);
            let source_mm = case.source_mm(density.grid().middle_mm());
            let start = Instant::now();
            let depth = radiological_depth(&density, source_mm, &Watch::new()).expect("nobody cancels it");
            let ms = start.elapsed().as_secs_f64() * 1e3;
            let voxels = depth.data().len();
            let paper = paper
                .map_or(String::new(), |(cpu, gpu)| format!("{:>17.0} ms {:>6.0} ms", cpu * 1e3, gpu * 1e3));
            println!("{name:<6} {voxels:>9} {ms:>8.0} {:>9.1}   {paper}", ms * 1e6 / voxels as f64);
        }
    }
}
