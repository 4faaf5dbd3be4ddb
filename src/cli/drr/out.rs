//! The image of a DRR and its files.

use super::Args;
use anyhow::{Context as _, anyhow};
use case::{PixelMeaning, Radiograph};
use dicom::{Belonging, write_radiograph};
use engine::drr::{Drr, Region};
use files::mha::{self, Facts, Quantity};
use files::replace_file;
use geometry::{Grid, ImagingSetup, Projection, Volume};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The region's image; NaN in pixels outside the request.
pub fn image(
    answer: &Drr,
    projection: &Projection,
    region: Region,
    intensity: bool,
    setup: Option<ImagingSetup>,
) -> anyhow::Result<Radiograph> {
    let mut values = vec![f32::NAN; region.pixels()];
    for (&pixel, &integral) in answer.indices.iter().zip(&answer.integrals) {
        let (column, row) = (
            pixel as usize % projection.columns(),
            pixel as usize / projection.columns(),
        );
        let value = if intensity {
            (-integral).exp()
        } else {
            integral
        };
        values[(row - region.row) * region.columns + column - region.column] = value;
    }
    let part = Projection::new(
        projection.source_mm(),
        projection.pixel_mm(region.column as f64, region.row as f64),
        projection.column_step_mm(),
        projection.row_step_mm(),
        [region.columns, region.rows],
    )?;
    let meaning = if intensity {
        PixelMeaning::Transmission
    } else {
        PixelMeaning::Attenuation
    };
    let setup = setup.map(|setup| part_of(setup, region));
    Ok(Radiograph {
        setup,
        ..Radiograph::new(values, meaning, part, "DRR")
    })
}

/// A region of an imager is a smaller one, shifted.
fn part_of(setup: ImagingSetup, region: Region) -> ImagingSetup {
    let [right_mm, down_mm] = [
        (
            region.column,
            region.columns,
            setup.columns,
            setup.pixel_mm[0],
        ),
        (region.row, region.rows, setup.rows, setup.pixel_mm[1]),
    ]
    .map(|(first, count, of_imager, pixel_mm)| {
        (first as f64 + 0.5 * (count as f64 - of_imager as f64)) * pixel_mm
    });
    ImagingSetup {
        shift_mm: [setup.shift_mm[0] + right_mm, setup.shift_mm[1] - down_mm],
        columns: region.columns,
        rows: region.rows,
        ..setup
    }
}

pub fn write(
    path: &Path,
    image: &Radiograph,
    args: &Args,
    belonging: &Belonging,
) -> anyhow::Result<()> {
    let ending = path.extension().map(|e| e.to_ascii_lowercase());
    match ending.as_deref().and_then(|e| e.to_str()) {
        Some("mha") => {
            let p = &image.projection;
            let (right, down) = (p.column_step_mm(), p.row_step_mm());
            let grid = Grid::new(
                p.origin_mm(),
                right.normalize(),
                down.normalize(),
                [right.length(), down.length()],
                [p.columns(), p.rows()],
                &[0.0],
            );
            let grid =
                grid.context("the pixels' rows and columns are not at right angles: write .png")?;
            let quantity = match image.meaning {
                PixelMeaning::Transmission => Quantity::Transmission,
                _ => Quantity::AttenuationIntegral,
            };
            let facts = Facts::new(
                quantity,
                &belonging.patient,
                &belonging.frame_of_reference_uid,
            );
            mha::write_with(
                path,
                &Volume::new(Arc::new(grid), image.values.to_vec()),
                &facts,
            )?;
        }
        Some("dcm") => write_radiograph(path, image, belonging)?,
        _ => png(path, image, args)?,
    }
    Ok(())
}

/// Grey levels of a window; pixels left out are black.
fn png(path: &Path, image: &Radiograph, args: &Args) -> anyhow::Result<()> {
    let seen = image.values.iter().copied().filter(|v| v.is_finite());
    let least_and_most = seen.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], v| {
        [a.min(f64::from(v)), b.max(f64::from(v))]
    });
    let [low, high] = args.window.unwrap_or(least_and_most);
    let per_value = if high > low {
        (high - low).recip()
    } else {
        0.0
    };
    let greys = image
        .values
        .iter()
        .map(|v| ((f64::from(*v) - low) * per_value).clamp(0.0, 1.0));
    let (depth, bytes): (_, Vec<u8>) = if args.bits == 16 {
        let levels = greys.map(|grey| (grey * 65_535.0).round() as u16);
        (
            png::BitDepth::Sixteen,
            levels.flat_map(u16::to_be_bytes).collect(),
        )
    } else {
        let levels = greys.map(|grey| (grey * 255.0).round() as u8);
        (png::BitDepth::Eight, levels.collect())
    };
    let (columns, rows) = (
        image.projection.columns() as u32,
        image.projection.rows() as u32,
    );
    replace_file(path, |out| {
        let mut encoder = png::Encoder::new(out, columns, rows);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(depth);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_image_data(&bytes).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)
    })
    .map_err(|e| {
        anyhow!(
            "cannot write '{}': {e}; choose a folder you may write to with --out",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::PatientPosition;
    use glam::DVec3;

    /// The smaller imager's pixels coincide with pixels of the whole one.
    #[test]
    fn a_region_stays_where_it_was() {
        let setup = ImagingSetup {
            position: PatientPosition::Ffs,
            gantry_deg: 37.0,
            couch_deg: 11.0,
            isocentre_mm: DVec3::new(4.0, -8.0, 15.0),
            sad_mm: 1000.0,
            sid_mm: 1600.0,
            shift_mm: [3.0, -9.0],
            pixel_mm: [0.4, 0.5],
            columns: 75,
            rows: 60,
        };
        let region = Region {
            column: 11,
            row: 40,
            columns: 8,
            rows: 13,
        };
        let [full, part] =
            [setup, part_of(setup, region)].map(|s| s.projection().expect("a geometry"));
        for (column, row) in [(0, 0), (7, 12)] {
            let want = full.pixel_mm((region.column + column) as f64, (region.row + row) as f64);
            assert!((part.pixel_mm(column as f64, row as f64) - want).length() < 1e-9);
        }
    }
}
