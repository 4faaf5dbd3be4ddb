use super::*;
use flate2::{Compression, write::ZlibEncoder};
use std::f64::consts::FRAC_1_SQRT_2;
use std::sync::atomic::{AtomicUsize, Ordering};

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("beamsight-mha-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn header(changes: &[(&str, &str)]) -> String {
    let mut lines = vec![
        ("ObjectType", "Image"),
        ("NDims", "3"),
        ("BinaryData", "True"),
        ("TransformMatrix", "1 0 0 0 1 0 0 0 1"),
        ("Offset", "-1 -2 -3"),
        ("ElementSpacing", "1.5 2 3"),
        ("DimSize", "2 3 2"),
        ("ElementType", "MET_SHORT"),
    ];
    for change in changes {
        lines.retain(|l| l.0 != change.0);
        lines.push(*change);
    }
    lines.retain(|l| l.1 != "(none)");
    let text: String = lines.iter().map(|(k, v)| format!("{k} = {v}\n")).collect();
    text + "ElementDataFile = LOCAL\n"
}

fn read_bytes(name: &str, header: &str, data: &[u8]) -> Result<Volume<f32>, String> {
    // Two tests at once may give their files the same name.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let test_folder = folder(&format!("read-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let path = test_folder.join(format!("{name}.mha"));
    std::fs::write(&path, [header.as_bytes(), data].concat()).unwrap();
    let result = read(&path).map_err(|e| e.to_string());
    if let Err(message) = &result {
        assert!(
            message.contains(&format!("{name}.mha")),
            "the file is not named: {message}"
        );
    }
    std::fs::remove_dir_all(test_folder).unwrap();
    result
}

fn shorts() -> Vec<u8> {
    (-1000i16..-988).flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn a_volume_comes_back_as_it_was() {
    let grid = Grid::new(
        DVec3::new(-1.25, 1.0 / 3.0, 7.0),
        DVec3::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2, 0.0),
        DVec3::new(0.0, 0.0, -1.0),
        [0.9765625, 1.1],
        [5, 4],
        &[0.0, 2.5, 5.0],
    )
    .unwrap();
    let volume = Volume::new(
        Arc::new(grid),
        (0..60).map(|n| n as f32 * 0.1 - 3.0).collect(),
    );
    let path = folder("whole").join("a.mha");
    write(&path, &volume).unwrap();
    let back = read(&path).unwrap();
    assert_eq!(back.data(), volume.data());
    for (a, b) in back
        .grid()
        .corners_mm()
        .iter()
        .zip(volume.grid().corners_mm())
    {
        assert!((*a - b).length() < 1e-9);
    }
    let left: Vec<_> = std::fs::read_dir(folder("whole")).unwrap().collect();
    assert_eq!(left.len(), 1, "a temporary file stays behind");
    std::fs::remove_dir_all(folder("whole")).unwrap();
}

#[test]
fn uneven_planes_are_refused_not_flattened() {
    let grid = Grid::new(
        DVec3::ZERO,
        DVec3::X,
        DVec3::Y,
        [1.0, 1.0],
        [1, 1],
        &[0.0, 1.0, 3.0],
    )
    .unwrap();
    let path = folder("uneven").join("a.mha");
    let error = write(&path, &Volume::new(Arc::new(grid), vec![0.0; 3])).unwrap_err();
    assert!(error.to_string().contains("uneven") && !path.exists());
}

#[test]
fn element_types_and_byte_orders() {
    let v = read_bytes("short", &header(&[]), &shorts()).unwrap();
    assert_eq!((v.data()[0], v.data()[11]), (-1000.0, -989.0));
    assert_eq!(v.grid().centre_mm(1, 2, 1), DVec3::new(0.5, 2.0, 0.0));
    let big: Vec<u8> = (0..12)
        .flat_map(|n| (1.5f64 * f64::from(n)).to_be_bytes())
        .collect();
    let h = header(&[
        ("ElementType", "MET_DOUBLE"),
        ("BinaryDataByteOrderMSB", "True"),
    ]);
    assert_eq!(read_bytes("double", &h, &big).unwrap().data()[5], 7.5);
    for (kind, bytes) in [
        ("MET_UCHAR", 200u32.to_le_bytes()[..1].to_vec()),
        ("MET_USHORT", 60_000u16.to_le_bytes().to_vec()),
        ("MET_INT", (-70_000i32).to_le_bytes().to_vec()),
        ("MET_FLOAT", 0.25f32.to_le_bytes().to_vec()),
    ] {
        let want = match kind {
            "MET_UCHAR" => 200.0,
            "MET_USHORT" => 60_000.0,
            "MET_INT" => -70_000.0,
            _ => 0.25,
        };
        let v = read_bytes(kind, &header(&[("ElementType", kind)]), &bytes.repeat(12)).unwrap();
        assert!(v.data().iter().all(|x| *x == want), "{kind}");
    }
}

#[test]
fn compressed_two_dimensional_and_left_handed() {
    let mut zip = ZlibEncoder::new(Vec::new(), Compression::default());
    zip.write_all(&shorts()).unwrap();
    let v = read_bytes(
        "zlib",
        &header(&[("CompressedData", "True")]),
        &zip.finish().unwrap(),
    )
    .unwrap();
    assert_eq!(v.data()[11], -989.0);

    let flat = [
        ("NDims", "2"),
        ("DimSize", "3 4"),
        ("Offset", "5 6"),
        ("ElementSpacing", "1 2"),
        ("TransformMatrix", "0 1 -1 0"),
    ];
    let v = read_bytes("flat", &header(&flat), &shorts()).unwrap();
    assert_eq!(v.grid().centre_mm(2, 1, 0), DVec3::new(3.0, 8.0, 0.0));

    // The third axis points down: the file's first plane is the highest.
    let v = read_bytes(
        "left",
        &header(&[("TransformMatrix", "1 0 0 0 1 0 0 0 -1")]),
        &shorts(),
    )
    .unwrap();
    assert_eq!(v.nearest(DVec3::new(-1.0, -2.0, -3.0)), Some(-1000.0));
    assert_eq!(v.nearest(DVec3::new(-1.0, -2.0, -6.0)), Some(-994.0));
}

#[test]
fn mistakes_are_refused_with_their_reason() {
    let huge = header(&[("DimSize", "1000000 1000000 1000000")]);
    for (name, h, data, words) in [
        (
            "nan",
            header(&[("ElementSpacing", "1 nan 3")]),
            shorts(),
            "NaN",
        ),
        (
            "zero",
            header(&[("ElementSpacing", "1 2 0")]),
            shorts(),
            "not a positive number",
        ),
        (
            "short",
            header(&[]),
            shorts()[..20].to_vec(),
            "promises 24 bytes of voxels, the file holds 20",
        ),
        (
            "huge",
            huge.clone(),
            shorts(),
            "promises 2000000000000000000 bytes",
        ),
        (
            "bomb",
            huge.replace("ElementDataFile", "CompressedData = True\nElementDataFile"),
            shorts(),
            "promises",
        ),
        (
            "list",
            header(&[]).replace("LOCAL", "LIST"),
            shorts(),
            "another file",
        ),
        (
            "type",
            header(&[("ElementType", "MET_RGB")]),
            shorts(),
            "MET_RGB",
        ),
        (
            "size",
            header(&[("DimSize", "2 3")]),
            shorts(),
            "should be 3 numbers",
        ),
        (
            "shear",
            header(&[("TransformMatrix", "1 0 0 0 1 0 0.6 0 0.8")]),
            shorts(),
            "not square",
        ),
        (
            "photo",
            "\u{fffd}JFIF\n".to_owned(),
            shorts(),
            "does not begin",
        ),
        (
            "ends",
            "NDims = 3\n".to_owned(),
            Vec::new(),
            "without an ElementDataFile",
        ),
    ] {
        let message = read_bytes(name, &h, &data).unwrap_err();
        assert!(message.contains(words), "{name}: {message}");
    }
    let not_a_number: Vec<u8> = f32::NAN.to_le_bytes().repeat(12);
    let message = read_bytes(
        "voxel",
        &header(&[("ElementType", "MET_FLOAT")]),
        &not_a_number,
    )
    .unwrap_err();
    assert!(message.contains("voxel 0 is NaN"), "{message}");
    assert!(
        read(Path::new("/nowhere/a.mha"))
            .unwrap_err()
            .to_string()
            .contains("/nowhere/a.mha")
    );
}
