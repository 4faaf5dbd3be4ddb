//! PNG and TIFF X-rays: pixels from the picture, geometry from the user or from a file beside it.

use super::replace_file;
use case::{PixelMeaning, Placement, Radiograph, opened};
use geometry::ProjectionError;
use input::{self, SIDECAR_BYTES, check_unpacked, fenced, from_toml, read_text, unpacked_bytes};
use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why a picture could not be read as an X-ray.
#[derive(Debug, Error)]
pub enum PictureError {
    #[error("cannot read {}: {source}; check that it exists and that you may read it", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is no picture that can be read ({reason}); save it as a grey PNG or TIFF of 8 or 16 bits", path.display())]
    Format { path: PathBuf, reason: String },
    #[error("{} is not understood: {message}\nIts fields are position, gantry_deg, couch_deg, isocentre_mm, sad_mm, sid_mm, \
             pixel_mm, shift_mm, field_mm, bone_is_bright", path.display())]
    Sidecar { path: PathBuf, message: String },
    #[error(
        "{} does not say where it was taken: no {}; give what is missing (--gantry, --isocentre, --sad, --sid, --pixel), or write \
         it to {}",
        path.display(), missing.join(", no "), sidecar.display()
    )]
    NoGeometry {
        path: PathBuf,
        missing: Vec<&'static str>,
        sidecar: PathBuf,
    },
    #[error("cannot write {}: {source}; choose a folder you may write to", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: its geometry cannot be: {source}", path.display())]
    Projection {
        path: PathBuf,
        source: ProjectionError,
    },
}

/// The geometry file beside a picture: `xray.toml` for `xray.png`.
pub fn sidecar(path: &Path) -> PathBuf {
    path.with_extension("toml")
}

/// Whether a path has the ending of a supported picture.
pub fn is_picture(path: &Path) -> bool {
    let ending = path
        .extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase());
    matches!(ending.as_deref(), Some("png" | "tif" | "tiff"))
}

/// Reads a picture as an X-ray as seen from the source; the geometry in `given` overrides the file beside it.
/// Bone is bright unless either states otherwise.
///
/// # Errors
/// [`PictureError`]; [`PictureError::NoGeometry`] names the missing values.
pub fn read(path: &Path, entered: &Placement) -> Result<Radiograph, PictureError> {
    let (values, size) = pixels(path)?;
    let placement = entered.or(&beside(path)?);
    let setup = placement
        .setup(size)
        .map_err(|missing| PictureError::NoGeometry {
            path: path.to_owned(),
            missing,
            sidecar: sidecar(path),
        })?;
    let projection = setup
        .projection()
        .map_err(|source| PictureError::Projection {
            path: path.to_owned(),
            source,
        })?;
    let meaning = if placement.bone_is_bright.unwrap_or(true) {
        PixelMeaning::Attenuation
    } else {
        PixelMeaning::Transmission
    };
    let label = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let open = placement
        .field_mm
        .map(|field| Arc::new(opened(&setup, field)));
    Ok(Radiograph {
        setup: Some(setup),
        open,
        ..Radiograph::new(values, meaning, projection, &label)
    })
}

/// Writes a transmission radiograph as a PNG of 16 bits, bone dark, with its geometry beside it.
///
/// # Errors
/// [`PictureError::Write`]; a radiograph without setup has no geometry to write.
pub fn write(
    path: &Path,
    image: &Radiograph,
    field_mm: Option<[f64; 2]>,
) -> Result<(), PictureError> {
    let Some(setup) = image.setup else {
        return Err(write_error(
            std::io::Error::other("its gantry and couch angles are not known"),
            path,
        ));
    };
    let (low, high) = image
        .values
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| {
            (a.min(*v), b.max(*v))
        });
    // A transmission keeps its zero: registration compares its logarithm.
    let low = if image.meaning == PixelMeaning::Transmission {
        0.0
    } else {
        low
    };
    let scale = 65_535.0 / (high - low).max(f32::MIN_POSITIVE);
    let bytes: Vec<u8> = image
        .values
        .iter()
        .flat_map(|v| (((v - low) * scale).round() as u16).to_be_bytes())
        .collect();
    replace_file(path, |out| {
        let mut encoder = png::Encoder::new(out, setup.columns as u32, setup.rows as u32);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Sixteen);
        let mut writer = encoder.write_header().map_err(std::io::Error::other)?;
        writer
            .write_image_data(&bytes)
            .map_err(std::io::Error::other)
    })
    .map_err(|source| write_error(source, path))?;
    let placement = Placement {
        position: Some(setup.position),
        gantry_deg: Some(setup.gantry_deg),
        couch_deg: Some(setup.couch_deg),
        isocentre_mm: Some(setup.isocentre_mm),
        sad_mm: Some(setup.sad_mm),
        sid_mm: Some(setup.sid_mm),
        pixel_mm: Some(setup.pixel_mm),
        shift_mm: Some(setup.shift_mm),
        field_mm,
        bone_is_bright: Some(image.meaning == PixelMeaning::Attenuation),
        accepted_patient: None,
    };
    let text =
        toml::to_string(&placement).map_err(|e| write_error(std::io::Error::other(e), path))?;
    let sidecar_path = sidecar(path);
    replace_file(&sidecar_path, |out| out.write_all(text.as_bytes())).map_err(|source| {
        PictureError::Write {
            path: sidecar_path.clone(),
            source,
        }
    })
}

fn write_error(source: std::io::Error, path: &Path) -> PictureError {
    PictureError::Write {
        path: path.to_owned(),
        source,
    }
}

/// The geometry in the file beside a picture; empty without one.
///
/// # Errors
/// [`PictureError`] where it cannot be read.
pub fn beside(path: &Path) -> Result<Placement, PictureError> {
    let path = sidecar(path);
    match read_text(&path, SIDECAR_BYTES) {
        Ok(text) => from_toml(&text).map_err(|e| PictureError::Sidecar {
            path,
            message: e.message().to_owned(),
        }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Placement::default()),
        Err(source) => Err(PictureError::Io { path, source }),
    }
}

/// Grey values and columns, rows. The grey value of a colour picture is the mean of red, green and blue.
fn pixels(path: &Path) -> Result<(Vec<f32>, [usize; 2]), PictureError> {
    let (file, length) = input::open(path).map_err(|source| PictureError::Io {
        path: path.to_owned(),
        source,
    })?;
    let length = file
        .metadata()
        .map_or(length, |metadata| input::held_bytes(&metadata));
    let png = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("png"));
    let file = BufReader::new(file);
    let read = fenced(|| {
        if png {
            from_png(file, length)
        } else {
            from_tiff(file, length)
        }
    });
    let (samples, size, per_pixel) = read
        .and_then(|read| read)
        .map_err(|reason| format_error(reason, path))?;
    let count = size[0] * size[1];
    if count == 0 || samples.len() < count * per_pixel {
        return Err(format_error(
            "it holds fewer pixels than it says".to_owned(),
            path,
        ));
    }
    // The last of two or four samples is the opacity.
    let colours = if per_pixel.is_multiple_of(2) {
        per_pixel - 1
    } else {
        per_pixel
    };
    Ok((
        samples
            .chunks_exact(per_pixel)
            .take(count)
            .map(|s: &[f32]| s[..colours].iter().sum::<f32>() / colours as f32)
            .collect(),
        size,
    ))
}

fn format_error(reason: String, path: &Path) -> PictureError {
    PictureError::Format {
        path: path.to_owned(),
        reason,
    }
}

type Samples = (Vec<f32>, [usize; 2], usize);

/// Whether a picture of this many samples may be read from a file of `length` bytes.
fn check_size(length: u64, columns: u32, rows: u32, per_pixel: usize) -> Result<(), String> {
    let samples = u64::from(columns)
        .saturating_mul(u64::from(rows))
        .saturating_mul(per_pixel as u64);
    check_unpacked(length, samples.saturating_mul(size_of::<f32>() as u64))
        .map_err(|e| e.to_string())
}

fn from_png(file: BufReader<File>, length: u64) -> Result<Samples, String> {
    // Other content of a picture, such as its colour profile, is unpacked, too.
    const BESIDE_BYTES: usize = 16 << 20;
    let mut decoder = png::Decoder::new_with_limits(
        file,
        png::Limits {
            bytes: BESIDE_BYTES,
        },
    );
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(|e| e.to_string())?;
    let (columns, rows) = (reader.info().width, reader.info().height);
    check_size(
        length,
        columns,
        rows,
        reader.output_color_type().0.samples(),
    )?;
    let bytes = reader.output_buffer_size().ok_or("it is too large")?;
    let mut buffer = vec![0; bytes];
    let frame = reader.next_frame(&mut buffer).map_err(|e| e.to_string())?;
    let buffer = &buffer[..frame.buffer_size().min(bytes)];
    let samples = match frame.bit_depth {
        png::BitDepth::Sixteen => buffer
            .chunks_exact(2)
            .map(|b| f32::from(u16::from_be_bytes([b[0], b[1]])))
            .collect(),
        _ => buffer.iter().map(|b| f32::from(*b)).collect(),
    };
    Ok((
        samples,
        [frame.width as usize, frame.height as usize],
        frame.color_type.samples(),
    ))
}

fn from_tiff(file: BufReader<File>, length: u64) -> Result<Samples, String> {
    use tiff::decoder::{Decoder, DecodingResult as D, Limits};
    let mut limits = Limits::default();
    let byte_limit = usize::try_from(unpacked_bytes(length)).unwrap_or(usize::MAX);
    (limits.decoding_buffer_size, limits.intermediate_buffer_size) = (byte_limit, byte_limit);
    let mut decoder = Decoder::new(file)
        .map_err(|e| e.to_string())?
        .with_limits(limits);
    let (columns, rows) = decoder.dimensions().map_err(|e| e.to_string())?;
    let per_pixel = match decoder.colortype().map_err(|e| e.to_string())? {
        tiff::ColorType::Gray(_) => 1,
        tiff::ColorType::GrayA(_) => 2,
        tiff::ColorType::RGB(_) => 3,
        tiff::ColorType::RGBA(_) => 4,
        other => return Err(format!("its colours are {other:?}")),
    };
    check_size(length, columns, rows, per_pixel)?;
    let samples = match decoder.read_image().map_err(|e| e.to_string())? {
        D::U8(v) => v.into_iter().map(f32::from).collect(),
        D::U16(v) => v.into_iter().map(f32::from).collect(),
        D::I16(v) => v.into_iter().map(f32::from).collect(),
        D::U32(v) => v.into_iter().map(|x| x as f32).collect(),
        D::F32(v) => v,
        _ => return Err("its numbers are of a kind that is not read".to_owned()),
    };
    Ok((samples, [columns as usize, rows as usize], per_pixel))
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("beamsight-picture-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn placed() -> Placement {
        Placement {
            gantry_deg: Some(90.0),
            isocentre_mm: Some(DVec3::new(1.0, 2.0, 3.0)),
            sad_mm: Some(1000.0),
            sid_mm: Some(1500.0),
            pixel_mm: Some([0.5, 0.5]),
            ..Placement::default()
        }
    }

    fn write_png(path: &Path, depth: png::BitDepth, bytes: &[u8]) {
        let mut encoder = png::Encoder::new(File::create(path).unwrap(), 3, 2);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(depth);
        encoder
            .write_header()
            .unwrap()
            .write_image_data(bytes)
            .unwrap();
    }

    #[test]
    fn grey_values_come_as_they_are() {
        let folder = folder("values");
        let png8 = folder.join("8.png");
        write_png(&png8, png::BitDepth::Eight, &[0, 1, 2, 253, 254, 255]);
        let image = read(&png8, &placed()).unwrap();
        assert_eq!(*image.values, [0.0, 1.0, 2.0, 253.0, 254.0, 255.0]);
        assert_eq!(
            (image.projection.columns(), image.projection.rows()),
            (3, 2)
        );
        assert_eq!(image.meaning, PixelMeaning::Attenuation);
        let png16 = folder.join("16.PNG");
        write_png(
            &png16,
            png::BitDepth::Sixteen,
            &[0, 1, 1, 0, 2, 2, 0, 0, 0, 0, 255, 255],
        );
        assert_eq!(
            *read(&png16, &placed()).unwrap().values,
            [1.0, 256.0, 514.0, 0.0, 0.0, 65_535.0]
        );
        let tiff16 = folder.join("16.tif");
        let mut encoder = tiff::encoder::TiffEncoder::new(File::create(&tiff16).unwrap()).unwrap();
        encoder
            .write_image::<tiff::encoder::colortype::Gray16>(3, 2, &[7, 300, 65_535, 0, 1, 2])
            .unwrap();
        drop(encoder);
        assert_eq!(
            *read(&tiff16, &placed()).unwrap().values,
            [7.0, 300.0, 65_535.0, 0.0, 1.0, 2.0]
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn geometry_comes_from_words_before_the_file_beside() {
        let folder = folder("beside");
        let path = folder.join("x.png");
        write_png(&path, png::BitDepth::Eight, &[0, 1, 2, 3, 4, 5]);
        let error = read(
            &path,
            &Placement {
                gantry_deg: Some(0.0),
                ..Placement::default()
            },
        )
        .unwrap_err();
        assert!(
            matches!(&error, PictureError::NoGeometry { missing, .. } if missing.len() == 4),
            "{error}"
        );
        assert!(
            error.to_string().contains("no isocentre") && error.to_string().contains("x.toml"),
            "{error}"
        );
        let text = "gantry_deg = 30.0\nisocentre_mm = [1.0, 2.0, 3.0]\nsad_mm = 1000.0\nsid_mm = 1500.0\n\
                    pixel_mm = [0.5, 0.5]\nbone_is_bright = false\nposition = \"FFS\"\n";
        std::fs::write(folder.join("x.toml"), text).unwrap();
        let image = read(
            &path,
            &Placement {
                gantry_deg: Some(90.0),
                ..Placement::default()
            },
        )
        .unwrap();
        let setup = image.setup.unwrap();
        assert_eq!(
            (setup.gantry_deg, setup.isocentre_mm),
            (90.0, DVec3::new(1.0, 2.0, 3.0))
        );
        assert_eq!(setup.position, geometry::PatientPosition::Ffs);
        assert_eq!(image.meaning, PixelMeaning::Transmission);
        std::fs::write(folder.join("x.toml"), "gantry = 3").unwrap();
        let error = read(&path, &placed()).unwrap_err();
        assert!(error.to_string().contains("gantry_deg"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_written_comes_back() {
        let folder = folder("written");
        let path = folder.join("x.png");
        let setup = Placement {
            shift_mm: Some([1.0, -2.0]),
            ..placed()
        }
        .setup([3, 2])
        .unwrap();
        let values = vec![0.0, 100.0, 65_535.0, 7.0, 20_000.0, 3.0];
        let image = Radiograph {
            setup: Some(setup),
            ..Radiograph::new(
                values,
                PixelMeaning::Transmission,
                setup.projection().unwrap(),
                "x",
            )
        };
        write(&path, &image, Some([1.0, 100.0])).unwrap();
        let back = read(&path, &Placement::default()).unwrap();
        assert_eq!(
            (&back.values, back.setup, back.meaning),
            (&image.values, image.setup, image.meaning)
        );
        assert_eq!(back.projection, image.projection);
        assert_eq!(back.open.as_deref(), Some(&opened(&setup, [1.0, 100.0])));
        assert!(
            read(
                &path,
                &Placement {
                    sid_mm: Some(900.0),
                    ..Placement::default()
                }
            )
            .is_ok()
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_picture_is_named() {
        let folder = folder("broken");
        for name in ["a.png", "a.tif"] {
            let path = folder.join(name);
            assert!(matches!(
                read(&path, &placed()),
                Err(PictureError::Io { .. })
            ));
            std::fs::write(&path, b"nothing of the kind").unwrap();
            let error = read(&path, &placed()).unwrap_err();
            assert!(
                matches!(error, PictureError::Format { .. }) && error.to_string().contains(name),
                "{error}"
            );
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
