//! The shader against the CPU's trilinear integrator.

use super::*;
use crate::render::interfaces;
use engine::drr::{DrrRequest, Integrator, Pixels, drr};
use engine::{Compute, JobControl};
use geometry::{ImagingSetup, PatientPosition};

/// A head-like phantom of smooth and sharp parts, on an oblique grid of uneven planes.
fn attenuation() -> Arc<Volume<f32>> {
    let planes: Vec<f64> = (0..40)
        .map(|k| 2.5 * f64::from(k) + 0.8 * f64::from(k % 3))
        .collect();
    let (s, c) = 9.0_f64.to_radians().sin_cos();
    let grid = Grid::new(
        DVec3::new(-55.0, -52.0, -50.0),
        DVec3::X,
        DVec3::new(0.0, c, s),
        [2.0, 1.6],
        [56, 64],
        &planes,
    );
    let grid = Arc::new(grid.expect("a grid"));
    let [nx, ny, nz] = grid.size();
    let mut data = Vec::with_capacity(grid.len());
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let p = grid.centre_mm(i, j, k);
                let inside = p.length() < 45.0;
                let bone = (p - DVec3::new(15.0, 10.0, -5.0)).length() < 12.0;
                let mu =
                    0.019 + 0.002 * (0.13 * p.x + 0.09 * p.z).sin() + if bone { 0.03 } else { 0.0 };
                data.push(if inside { mu as f32 } else { 0.0 });
            }
        }
    }
    Arc::new(Volume::new(grid, data))
}

fn values(caster: &DrrCaster, picture: &Picture) -> Vec<f32> {
    let [width, height] = [
        picture.target.texture.width(),
        picture.target.texture.height(),
    ];
    let row = (4 * width).next_multiple_of(256);
    let buffer = caster.shader.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(row * height),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = caster
        .shader
        .device
        .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_texture_to_buffer(
        picture.target.texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo {
            buffer: &buffer,
            layout: wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(row),
                rows_per_image: None,
            },
        },
        picture.target.texture.size(),
    );
    caster.shader.queue.submit([encoder.finish()]);
    buffer.slice(..).map_async(wgpu::MapMode::Read, |_| {});
    caster
        .shader
        .device
        .poll(wgpu::PollType::wait_indefinitely())
        .expect("the device answers");
    let bytes = buffer.slice(..).get_mapped_range().expect("mapped");
    let texels = (0..height).flat_map(|n| {
        let line = &bytes[(n * row) as usize..(n * row + 4 * width) as usize];
        bytemuck::pod_collect_to_vec::<u8, f32>(line)
    });
    texels.collect()
}

/// All pixels, from all sides, in poses of six degrees of freedom, source and image near enough that rays diverge widely.
#[test]
fn the_shader_integrates_as_the_cpu_does() {
    let state = interfaces::device().expect("a graphics device, lavapipe at least");
    let layouts = Layouts::new(&state.device);
    let mut caster = DrrCaster::new(&state.device, &state.queue, &layouts);
    let mut textures = Textures::new(state.device.clone(), state.queue.clone(), layouts);
    let volume = attenuation();
    let centre_mm = DVec3::new(4.0, -3.0, 2.0);
    let poses = [
        Pose::default(),
        Pose::new([6.0, -4.0, 9.0], [5.0, -8.0, 12.0]),
    ];
    for (gantry_deg, pose) in [0.0, 90.0, 213.0]
        .into_iter()
        .flat_map(|g| poses.map(|p| (g, p)))
    {
        let setup = ImagingSetup {
            position: PatientPosition::Hfs,
            gantry_deg,
            couch_deg: 0.0,
            isocentre_mm: centre_mm,
            sad_mm: 400.0,
            sid_mm: 600.0,
            shift_mm: [5.0, -3.0],
            pixel_mm: [2.1, 1.7],
            columns: 90,
            rows: 110,
        };
        let projection = setup.projection().expect("a geometry");
        let request = DrrRequest {
            attenuation: Arc::clone(&volume),
            projection,
            poses: vec![pose],
            pose_centre_mm: centre_mm,
            integrator: Integrator::Trilinear { step_mm: None },
            pixels: Pixels::All,
        };
        let want = drr(&request, &Compute::Cpu, &JobControl::default())
            .expect("a DRR")
            .integrals;
        let largest = want.iter().copied().fold(0.0, f32::max);
        assert!(largest > 1.5, "the phantom is seen: {largest}");
        for (exact, tolerance) in [(true, 1e-4), (false, 4e-3)] {
            let view = DrrView {
                projection,
                pose,
                centre_mm,
                fineness: Fineness::Fine,
                exact,
            };
            caster
                .drr(&mut textures, 0, &volume, &view)
                .expect("a picture");
            caster.submit();
            let got = values(&caster, &caster.pictures[&Subject::Attenuation(0)]);
            assert_eq!(got.len(), want.len());
            let off = got
                .iter()
                .zip(&want)
                .map(|(a, b)| (a - b).abs() / largest)
                .fold(0.0, f32::max);
            assert!(
                off < tolerance,
                "gantry {gantry_deg} {pose} exact {exact}: off by {off}"
            );
        }
    }
}

/// A coarser picture has its texels at the centres of blocks of pixels.
#[test]
fn a_texel_stands_in_the_middle_of_its_pixels() {
    let volume = attenuation();
    let origin = DVec3::new(-100.0, 500.0, 80.0);
    let image = Projection::new(
        DVec3::new(0.0, -900.0, 0.0),
        origin,
        DVec3::X,
        DVec3::NEG_Z * 0.5,
        [1000, 700],
    );
    let projection = image.expect("a geometry");
    let (pose, centre_mm) = (Pose::default(), DVec3::ZERO);
    let view = DrrView {
        projection,
        pose,
        centre_mm,
        fineness: Fineness::Coarse,
        exact: false,
    };
    let sheet = view.sheet(volume.grid());
    assert_eq!(view.pixels_per_texel(volume.grid()), 6);
    assert_eq!(sheet.texels, [167, 117]);
    assert!((sheet.first_mm - projection.pixel_mm(2.5, 2.5)).length() < 1e-9);
    let corner = sheet.first_mm + sheet.right_mm * 10.0 + sheet.down_mm * 20.0;
    assert!((corner - projection.pixel_mm(62.5, 122.5)).length() < 1e-9);
}
