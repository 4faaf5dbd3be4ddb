//! Point source on water.
use beamsight::engine::Watch;
use beamsight::engine::cccs::directions::equal_energy_spiral;
use beamsight::engine::cpu::cccs::angles::{AngleTable, TiltNorm};
use beamsight::engine::cpu::cccs::block::Lattice;
use beamsight::engine::cpu::cccs::superpose::{Released, superpose};
use beamsight::physics::kernel_beam::BeamKernel;
use glam::{DMat3, DVec3};

fn csv(path: &str) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(format!("{}/../shared/data/physics/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    text.lines().filter_map(|l| l.split(',').map(|x| x.parse().ok()).collect()).collect()
}

#[test]
fn mc() {
    let s = csv("spectra/mohan6.csv");
    let e: Vec<f64> = s.iter().map(|r| 0.5 * (r[0] + r[1])).collect();
    let w: Vec<f64> = s.iter().map(|r| r[2]).collect();
    let n: usize = std::env::var("NDIR").ok().and_then(|v| v.parse().ok()).unwrap_or(128);
    let h: f64 = std::env::var("H").ok().and_then(|v| v.parse().ok()).unwrap_or(5.0);
    let t0 = std::time::Instant::now();
    let kernel = BeamKernel::new(&e, &w);
    let table = AngleTable::new(&kernel);
    let dirs = equal_energy_spiral(&kernel.energy_by_cone(10.0), n);
    println!("kernel {:?}", t0.elapsed());
    let nx = (300.0 / h).round() as usize;
    let nz = (300.0 / h.min(2.5)).round() as usize;
    let lattice = Lattice { size: [nx, nx, nz], spacing_mm: [300.0 / nx as f64, 300.0 / nx as f64, 300.0 / nz as f64] };
    let hz = lattice.spacing_mm[2];
    let hx = lattice.spacing_mm[0];
    let mid = hx * (nx as f64 - 1.0) / 2.0;
    // source at z = -1000 below the surface, at z = -hz/2
    let source_mm = DVec3::new(mid, mid, -1000.0 - hz / 2.0);
    let norm = TiltNorm::new(&table, &dirs, 0.3);
    let density = vec![1.0f32; lattice.len()];
    let mut source: [Vec<f32>; 4] = std::array::from_fn(|_| vec![0.0; lattice.len()]);
    for k in 0..nz {
        for j in 0..nx {
            for i in 0..nx {
                let p = DVec3::new(i as f64 * hx, j as f64 * hx, k as f64 * hz);
                let r = p - source_mm;
                // coverage of the voxel footprint
                let cov = |x: f64| {
                    let half = 0.5 * hx / r.z * 1000.0;
                    let x = x / r.z * 1000.0;
                    (((x + half).min(50.0) - (x - half).max(-50.0)) / (2.0 * half)).clamp(0.0, 1.0)
                };
                let f = cov(r.x) * cov(r.y);
                if f == 0.0 { continue; }
                let s2 = r.length_squared();
                let depth = (k as f64 + 0.5) * hz * r.length() / r.z / 10.0;
                // isotropic: fluence goes as 1/r^2
                let rel = kernel.release(depth).map(|x| x * f * 1e6 / s2);
                let nf = norm.at([r.x / r.z, r.y / r.z]);
                let at = (k * nx + j) * nx + i;
                for c in 0..4 { source[c][at] = rel[c] as f32 * nf[c]; }
            }
        }
    }
    println!("terma {:?}", t0.elapsed());
    let t1 = std::time::Instant::now();
    let rel = Released { lattice, density: &density, source: &source, source_mm, lattice_from_kernel: DMat3::IDENTITY };
    let dose = superpose(&rel, &table, &dirs, &Watch::new()).unwrap();
    let dt = t1.elapsed();
    println!("superpose {:?}: {:.3} ns per voxel and direction", dt, dt.as_secs_f64() * 1e9 / (lattice.len() * n) as f64);
    // axis, averaged over the central 1 cm
    let axis = |k: usize, x: f64| -> f64 {
        let (mut s, mut m) = (0.0, 0);
        for j in 0..nx { for i in 0..nx {
            let (px, py) = (i as f64 * hx - mid, j as f64 * hx - mid);
            if (px - x).abs() < 5.0 && py.abs() < 5.0 { s += dose[(k * nx + j) * nx + i] as f64; m += 1; }
        }}
        s / m as f64
    };
    let dd = csv("mc_water10/water10_dd.csv");
    let mut worst: f64 = 0.0;
    for r in dd.iter().filter(|r| r.len() == 4) {
        let (lo, hi) = (r[0] * 10.0 / hz, r[1] * 10.0 / hz);
        let ks: Vec<usize> = (lo.round() as usize..hi.round() as usize).collect();
        let v = ks.iter().map(|&k| axis(k, 0.0)).sum::<f64>() / ks.len() as f64;
        let ratio = v / r[2];
        if r[0] >= 1.5 && r[1] <= 28.0 { worst = worst.max((ratio - 1.0).abs()); }
        if r[0] < 3.0 || (r[0] * 2.0) as usize % 5 == 0 { println!("{:5.2}-{:5.2} {:.4e} {:.4e} ratio {:.4} (sigma {:.4})", r[0], r[1], v, r[2], ratio, r[3] / r[2]); }
    }
    println!("worst {worst:.4}");
}
