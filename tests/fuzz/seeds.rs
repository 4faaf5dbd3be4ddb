//! The sound files that the corpus begins with, made here: no patient's. Those that other programs compressed
//! (`ct-jpeg.dcm`: dcmcjpeg, `ct-j2k.dcm`: OpenJPEG through Pillow) lie beside them.

#[path = "../common/synthetic.rs"]
mod synthetic;

use beamsight::files::{demo, session::Session};
use dicom_core::value::{PixelFragmentSequence, Value};
use dicom_core::{DataElement, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::InMemDicomObject;
use std::path::Path;
use synthetic::{Folder, arc, dose, fixed, plan, slice, structures};

/// Names and contents of DICOM files.
pub fn dicom() -> Vec<(String, Vec<u8>)> {
    let mut rle = slice(1, 0.0, 5);
    let stream: Vec<u8> = [2u32, 64, 71].into_iter().chain([0; 13]).flat_map(u32::to_le_bytes).collect();
    let stream = [&stream[..], &[5, 3, 3, 3, 3, 3, 3], &[0xfb, 0xed]].concat();
    let fragments = PixelFragmentSequence::new_fragments(vec![stream]);
    rle.put(DataElement::new(tags::PIXEL_DATA, VR::OB, Value::PixelSequence(fragments)));
    let little = uids::EXPLICIT_VR_LITTLE_ENDIAN;
    let objects: [(&str, InMemDicomObject, &str); 10] = [
        ("ct", slice(1, 0.0, 5), little),
        ("ct-implicit", slice(1, 0.0, 5), uids::IMPLICIT_VR_LITTLE_ENDIAN),
        ("ct-big", slice(1, 0.0, 5), "1.2.840.10008.1.2.2"),
        ("ct-deflated", slice(1, 0.0, 5), uids::DEFLATED_EXPLICIT_VR_LITTLE_ENDIAN),
        ("ct-rle", rle, uids::RLE_LOSSLESS),
        ("structures", structures(), little),
        ("plan", plan(vec![arc(), fixed("9", &[])]), little),
        ("plan-implicit", plan(vec![fixed("9", &[])]), uids::IMPLICIT_VR_LITTLE_ENDIAN),
        ("dose-16", dose(16, &[0.0, 2.0, 4.0]), little),
        ("dose-32", dose(32, &[0.0, 2.0]), little),
    ];
    let folder = Folder::new("seeds");
    let made = |(name, object, syntax): (&str, InMemDicomObject, &str)| {
        let path = folder.put_as("seed.dcm", &object, syntax);
        (format!("{name}.dcm"), std::fs::read(path).unwrap())
    };
    objects.into_iter().map(made).collect()
}

fn png(colour: png::ColorType, depth: png::BitDepth, bytes: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 4, 3);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    if colour == png::ColorType::Indexed {
        encoder.set_palette(vec![0, 10, 20, 255, 250, 240]);
    }
    encoder.write_header().unwrap().write_image_data(bytes).unwrap();
    file
}

fn pictures() -> Vec<(String, Vec<u8>)> {
    use png::{BitDepth, ColorType};
    let ramp: Vec<u8> = (0..96).map(|n| n * 2).collect();
    let mut all = vec![
        ("png/grey.png".to_owned(), png(ColorType::Grayscale, BitDepth::Eight, &ramp[..12])),
        ("png/grey-16.png".to_owned(), png(ColorType::Grayscale, BitDepth::Sixteen, &ramp[..24])),
        ("png/rgba-16.png".to_owned(), png(ColorType::Rgba, BitDepth::Sixteen, &ramp)),
        ("png/palette.png".to_owned(), png(ColorType::Indexed, BitDepth::One, &[0x50, 0xa0, 0xf0])),
    ];
    use tiff::encoder::{Compression, TiffEncoder, colortype};
    for (name, compression) in [
        ("plain", Compression::Uncompressed),
        ("lzw", Compression::Lzw),
        ("deflate", Compression::Deflate(Default::default())),
        ("packbits", Compression::Packbits),
    ] {
        let mut file = std::io::Cursor::new(Vec::new());
        let mut encoder = TiffEncoder::new(&mut file).unwrap().with_compression(compression);
        let words: Vec<u16> = (0..12).map(|n| n * 300).collect();
        encoder.write_image::<colortype::Gray16>(4, 3, &words).unwrap();
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
    let double = stored
        .replace("MET_SHORT", "MET_DOUBLE")
        .replace("BinaryDataByteOrderMSB = False", "ElementByteOrderMSB = True");
    let doubles: Vec<u8> = (0..12).flat_map(|n| f64::from(n).to_be_bytes()).collect();
    vec![
        ("mha/compressed.mha".to_owned(), compressed),
        ("mha/stored.mha".to_owned(), [stored.as_bytes(), &voxels].concat()),
        ("mha/double.mha".to_owned(), [double.as_bytes(), &doubles].concat()),
    ]
}

fn texts() -> Vec<(String, Vec<u8>)> {
    let asset =
        |path: &str| std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join(path)).unwrap();
    let mut case = demo::build("slab").unwrap();
    let loaded = case.structures.clone();
    let set = std::sync::Arc::make_mut(&mut case.structures);
    if let Some(first) = set.structures.first_mut() {
        first.contours.truncate(2);
        first.contours.iter_mut().for_each(|c| c.points_mm.truncate(4));
    }
    set.structures.truncate(1);
    let view = serde_json::json!({"window": [400, 40], "list": [1, 2, {"a": null}]});
    let session = Session::new(&case, "demo:slab", &loaded, view);
    let sidecar = "gantry_deg = 30.0\nisocentre_mm = [1.0, 2.0, 3.0]\nsad_mm = 1000.0\nsid_mm = 1500.0\n\
                   pixel_mm = [0.5, 0.5]\nfield_mm = [100.0, 80.0]\nbone_is_bright = false\nposition = \"FFS\"\n";
    vec![
        ("session/slab.json".to_owned(), serde_json::to_vec_pretty(&session).unwrap()),
        ("sidecar/all.toml".to_owned(), sidecar.as_bytes().to_vec()),
        ("machine/generic-6mv.toml".to_owned(), asset("machines/generic-6mv.toml")),
        ("machine/point-6mv.toml".to_owned(), asset("machines/point-6mv.toml")),
        ("hu/truebeam-site.toml".to_owned(), asset("hu/truebeam-site.toml")),
        ("plan/ap-water.toml".to_owned(), asset("plans/ap-water.toml")),
        ("plan/steps-and-leaves.toml".to_owned(), asset("plans/steps-and-leaves.toml")),
    ]
}

/// Writes them all.
pub fn write(corpus: &Path) {
    let dicom = dicom().into_iter().map(|(name, bytes)| (format!("dicom/{name}"), bytes));
    for (name, bytes) in dicom.chain(pictures()).chain(volumes()).chain(texts()) {
        let path = corpus.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}
