//! A fluence map drawn as a picture, in place of the transmission of leaves.

use crate::aperture::Raster;
use case::FluenceMap;

/// The mean of the map over each pixel; 0 beside it. The picture is linear in the values of the map, so that doses of beamlets add up.
pub(super) fn map_picture(map: &FluenceMap, r: &Raster) -> Vec<f32> {
    let columns: Vec<[f64; 2]> = (0..map.columns)
        .map(|column| map.sides_mm(column)[0])
        .collect();
    let rows: Vec<[f64; 2]> = map
        .rows_mm
        .windows(2)
        .map(|side| [side[0], side[1]])
        .collect();
    let along_u = shares(&columns, r, 0);
    let mut image = vec![0.0_f32; r.len()];
    for (row, pixels) in shares(&rows, r, 1).into_iter().enumerate() {
        let values = &map.values[row * map.columns..(row + 1) * map.columns];
        let mut line = vec![0.0_f64; r.size[0]];
        for (value, pixels) in values.iter().zip(&along_u) {
            pixels
                .iter()
                .for_each(|(i, share)| line[*i] += f64::from(*value) * share);
        }
        for (j, share) in pixels {
            let pixels = &mut image[j * r.size[0]..(j + 1) * r.size[0]];
            pixels
                .iter_mut()
                .zip(&line)
                .for_each(|(pixel, value)| *pixel += (share * value) as f32);
        }
    }
    image
}

/// The pixels that each span covers, with the part of the pixel that lies in it.
pub(super) fn shares(spans: &[[f64; 2]], r: &Raster, axis: usize) -> Vec<Vec<(usize, f64)>> {
    spans
        .iter()
        .map(|[low, high]: &[f64; 2]| {
            // Edges of the pixels are half a step from their centres.
            let (low, high) = (edge_pixel(*low, r, axis), edge_pixel(*high, r, axis));
            (low as usize..high.ceil() as usize)
                .map(|i| (i, (high.min(i as f64 + 1.0) - low.max(i as f64)).max(0.0)))
                .collect()
        })
        .collect()
}

fn edge_pixel(mm: f64, r: &Raster, axis: usize) -> f64 {
    (r.index(axis, mm) + 0.5).clamp(0.0, r.size[axis] as f64)
}
