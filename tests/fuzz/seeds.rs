//! Sound synthetic files of the corpus, none of a patient. Those compressed by other programs (`ct-jpeg.dcm`:
//! dcmcjpeg, `ct-j2k.dcm`: OpenJPEG through Pillow) lie beside them.

#[path = "../common/synthetic.rs"]
mod synthetic;

use beamsight::files::{demo, session::Session};
use dicom_core::value::{PixelFragmentSequence, Value};
use dicom_core::{DataElement, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use std::path::Path;
use synthetic::{
    Folder, arc, dose, fixed, item, numbers, object, plan, set, set_items, set_u16, set_words,
    slice, structures,
};

/// Names and contents of DICOM files.
pub fn dicom() -> Vec<(String, Vec<u8>)> {
    let mut rle = slice(1, 0.0, 5);
    let stream: Vec<u8> = [2u32, 64, 71]
        .into_iter()
        .chain([0; 13])
        .flat_map(u32::to_le_bytes)
        .collect();
    let stream = [&stream[..], &[5, 3, 3, 3, 3, 3, 3], &[0xfb, 0xed]].concat();
    let fragments = PixelFragmentSequence::new_fragments(vec![stream]);
    rle.put(DataElement::new(
        tags::PIXEL_DATA,
        VR::OB,
        Value::PixelSequence(fragments),
    ));
    let little = uids::EXPLICIT_VR_LITTLE_ENDIAN;
    let objects: [(&str, InMemDicomObject, &str); 12] = [
        ("ct", slice(1, 0.0, 5), little),
        (
            "ct-implicit",
            slice(1, 0.0, 5),
            uids::IMPLICIT_VR_LITTLE_ENDIAN,
        ),
        ("ct-big", slice(1, 0.0, 5), "1.2.840.10008.1.2.2"),
        (
            "ct-deflated",
            slice(1, 0.0, 5),
            uids::DEFLATED_EXPLICIT_VR_LITTLE_ENDIAN,
        ),
        ("ct-rle", rle, uids::RLE_LOSSLESS),
        ("structures", structures(), little),
        ("plan", plan(vec![arc(), fixed("9", &[])]), little),
        (
            "plan-implicit",
            plan(vec![fixed("9", &[])]),
            uids::IMPLICIT_VR_LITTLE_ENDIAN,
        ),
        ("dose-16", dose(16, &[0.0, 2.0, 4.0]), little),
        ("dose-32", dose(32, &[0.0, 2.0]), little),
        ("rtimage", radiograph(), little),
        ("registration", registration(), little),
    ];
    let folder = Folder::new("seeds");
    let made = |(name, object, syntax): (&str, InMemDicomObject, &str)| {
        let path = folder.put_as("seed.dcm", &object, syntax);
        (format!("{name}.dcm"), std::fs::read(path).unwrap())
    };
    objects.into_iter().map(made).collect()
}

/// An X-ray of 3 x 2 pixels, with all of its geometry.
fn radiograph() -> InMemDicomObject {
    let mut o = object(uids::RT_IMAGE_STORAGE, "RTIMAGE", "1.2.3.700");
    for (tag, vr, text) in [
        (tags::PATIENT_POSITION, VR::CS, "HFS"),
        (tags::RT_IMAGE_LABEL, VR::SH, "AP"),
        (tags::RT_IMAGE_PLANE, VR::CS, "NORMAL"),
        (tags::RT_IMAGE_ORIENTATION, VR::DS, "1\\0\\0\\0\\-1\\0"),
        (tags::RT_IMAGE_POSITION, VR::DS, "-0.8\\0.4"),
        (tags::IMAGE_PLANE_PIXEL_SPACING, VR::DS, "0.8\\0.8"),
        (tags::X_RAY_IMAGE_RECEPTOR_TRANSLATION, VR::DS, "1\\2\\-500"),
        (tags::X_RAY_IMAGE_RECEPTOR_ANGLE, VR::DS, "5"),
        (tags::RADIATION_MACHINE_SAD, VR::DS, "1000"),
        (tags::RT_IMAGE_SID, VR::DS, "1500"),
        (tags::GANTRY_ANGLE, VR::DS, "90"),
        (tags::PATIENT_SUPPORT_ANGLE, VR::DS, "0"),
        (tags::ISOCENTER_POSITION, VR::DS, "1\\2\\3"),
        (tags::PHOTOMETRIC_INTERPRETATION, VR::CS, "MONOCHROME2"),
        (tags::PIXEL_INTENSITY_RELATIONSHIP, VR::CS, "LIN"),
    ] {
        set(&mut o, tag, vr, text);
    }
    let jaw = |kind: &str| {
        let kind = (tags::RT_BEAM_LIMITING_DEVICE_TYPE, VR::CS, kind);
        item(&[kind, (tags::LEAF_JAW_POSITIONS, VR::DS, "-50\\60")])
    };
    let mut exposure = item(&[(tags::KVP, VR::DS, "120")]);
    set_items(
        &mut exposure,
        tags::BEAM_LIMITING_DEVICE_SEQUENCE,
        vec![jaw("X"), jaw("ASYMY")],
    );
    set_items(&mut o, tags::EXPOSURE_SEQUENCE, vec![exposure]);
    for (tag, value) in [
        (tags::SAMPLES_PER_PIXEL, 1),
        (tags::ROWS, 2),
        (tags::COLUMNS, 3),
        (tags::BITS_ALLOCATED, 16),
        (tags::BITS_STORED, 12),
        (tags::HIGH_BIT, 11),
        (tags::PIXEL_REPRESENTATION, 0),
    ] {
        set_u16(&mut o, tag, value);
    }
    set_words(&mut o, &[0, 100, 200, 4000, 4095, 7]);
    o
}

/// A pose as a spatial registration of two frames.
fn registration() -> InMemDicomObject {
    let mut o = object(uids::SPATIAL_REGISTRATION_STORAGE, "REG", "1.2.3.800");
    set(&mut o, tags::CONTENT_LABEL, VR::CS, "POSE");
    let of = |frame: &str, rows: [f64; 16]| {
        let rows = numbers(&rows);
        let matrix = item(&[
            (
                tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX_TYPE,
                VR::CS,
                "RIGID",
            ),
            (
                tags::FRAME_OF_REFERENCE_TRANSFORMATION_MATRIX,
                VR::DS,
                &rows,
            ),
        ]);
        let mut step = item(&[]);
        set_items(&mut step, tags::MATRIX_SEQUENCE, vec![matrix]);
        let mut of = item(&[(tags::FRAME_OF_REFERENCE_UID, VR::UI, frame)]);
        set_items(&mut of, tags::MATRIX_REGISTRATION_SEQUENCE, vec![step]);
        of
    };
    let own = [
        1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
    ];
    let turned = [
        0.0, -1.0, 0.0, 3.5, 1.0, 0.0, 0.0, -4.0, 0.0, 0.0, 1.0, 5.25, 0.0, 0.0, 0.0, 1.0,
    ];
    set_items(
        &mut o,
        tags::REGISTRATION_SEQUENCE,
        vec![of(synthetic::FRAME, own), of("1.2.3.101", turned)],
    );
    o
}

fn png(colour: png::ColorType, depth: png::BitDepth, bytes: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 4, 3);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    if colour == png::ColorType::Indexed {
        encoder.set_palette(vec![0, 10, 20, 255, 250, 240]);
    }
    encoder
        .write_header()
        .unwrap()
        .write_image_data(bytes)
        .unwrap();
    file
}

fn pictures() -> Vec<(String, Vec<u8>)> {
    use png::{BitDepth, ColorType};
    let ramp: Vec<u8> = (0..96).map(|n| n * 2).collect();
    let mut all = vec![
        (
            "png/grey.png".to_owned(),
            png(ColorType::Grayscale, BitDepth::Eight, &ramp[..12]),
        ),
        (
            "png/grey-16.png".to_owned(),
            png(ColorType::Grayscale, BitDepth::Sixteen, &ramp[..24]),
        ),
        (
            "png/rgba-16.png".to_owned(),
            png(ColorType::Rgba, BitDepth::Sixteen, &ramp),
        ),
        (
            "png/palette.png".to_owned(),
            png(ColorType::Indexed, BitDepth::One, &[0x50, 0xa0, 0xf0]),
        ),
    ];
    use tiff::encoder::{Compression, TiffEncoder, colortype};
    for (name, compression) in [
        ("plain", Compression::Uncompressed),
        ("lzw", Compression::Lzw),
        ("deflate", Compression::Deflate(Default::default())),
        ("packbits", Compression::Packbits),
    ] {
        let mut file = std::io::Cursor::new(Vec::new());
        let mut encoder = TiffEncoder::new(&mut file)
            .unwrap()
            .with_compression(compression);
        let words: Vec<u16> = (0..12).map(|n| n * 300).collect();
        encoder
            .write_image::<colortype::Gray16>(4, 3, &words)
            .unwrap();
        all.push((format!("tiff/{name}.tif"), file.into_inner()));
    }
    all
}

fn volumes() -> Vec<(String, Vec<u8>)> {
    let header = "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = True\n\
                  TransformMatrix = 1 0 0 0 1 0 0 0 -1\nOffset = 1 2 3\nElementSpacing = 1 2 3\nDimSize = 3 2 2\n\
                  ElementType = MET_SHORT\nElementDataFile = LOCAL\n";
    let voxels: Vec<u8> = (0..12i16).flat_map(|n| (100 * n).to_le_bytes()).collect();
    let mut squeezed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut squeezed, &voxels).unwrap();
    let compressed = [header.as_bytes(), &squeezed.finish().unwrap()].concat();
    let stored = header.replace("CompressedData = True", "CompressedData = False");
    let double = stored.replace("MET_SHORT", "MET_DOUBLE").replace(
        "BinaryDataByteOrderMSB = False",
        "ElementByteOrderMSB = True",
    );
    let doubles: Vec<u8> = (0..12).flat_map(|n| f64::from(n).to_be_bytes()).collect();
    vec![
        ("mha/compressed.mha".to_owned(), compressed),
        (
            "mha/stored.mha".to_owned(),
            [stored.as_bytes(), &voxels].concat(),
        ),
        (
            "mha/double.mha".to_owned(),
            [double.as_bytes(), &doubles].concat(),
        ),
    ]
}

fn texts() -> Vec<(String, Vec<u8>)> {
    let asset = |path: &str| {
        std::fs::read(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("assets")
                .join(path),
        )
        .unwrap()
    };
    let mut case = demo::build("slab").unwrap();
    let loaded = case.structures.clone();
    let set = std::sync::Arc::make_mut(&mut case.structures);
    if let Some(first) = set.structures.first_mut() {
        let four = |c: &std::sync::Arc<beamsight::case::Contour>| {
            let mut c = beamsight::case::Contour::clone(c);
            c.points_mm.truncate(4);
            c
        };
        first.contours = first.contours.iter().take(2).map(four).collect();
    }
    set.structures.truncate(1);
    let view = serde_json::json!({"window": [400, 40], "list": [1, 2, {"a": null}]});
    let session = Session::new(&case, "demo:slab", &loaded, view);
    let sidecar = "gantry_deg = 30.0\nisocentre_mm = [1.0, 2.0, 3.0]\nsad_mm = 1000.0\nsid_mm = 1500.0\n\
                   pixel_mm = [0.5, 0.5]\nfield_mm = [100.0, 80.0]\nbone_is_bright = false\nposition = \"FFS\"\n";
    vec![
        (
            "session/slab.json".to_owned(),
            serde_json::to_vec_pretty(&session).unwrap(),
        ),
        ("sidecar/all.toml".to_owned(), sidecar.as_bytes().to_vec()),
        (
            "machine/generic-6mv.toml".to_owned(),
            asset("machines/generic-6mv.toml"),
        ),
        (
            "machine/point-6mv.toml".to_owned(),
            asset("machines/point-6mv.toml"),
        ),
        (
            "tolerances/second-check.toml".to_owned(),
            asset("tolerances/second-check.toml"),
        ),
        (
            "hu/truebeam-site.toml".to_owned(),
            asset("hu/truebeam-site.toml"),
        ),
        (
            "plan/ap-water.toml".to_owned(),
            asset("plans/ap-water.toml"),
        ),
        (
            "plan/steps-and-leaves.toml".to_owned(),
            asset("plans/steps-and-leaves.toml"),
        ),
    ]
}

/// Writes all seeds.
pub fn write(corpus: &Path) {
    let dicom = dicom()
        .into_iter()
        .map(|(name, bytes)| (format!("dicom/{name}"), bytes));
    for (name, bytes) in dicom.chain(pictures()).chain(volumes()).chain(texts()) {
        let path = corpus.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}
