//! Malicious files: made to crash the program, to hang it, or to exhaust its memory. Each is opened by the
//! program itself with 3 GB: the answer is a refusal that names the file, or the case.

use super::bytes::*;
use crate::common::program::{scratch, text as word};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the program with an address space of 3 GB; a hanging one is killed after two minutes, far longer than
/// any takes.
fn held(words: &[&str]) -> Output {
    let output = Command::new("timeout")
        .args(["120", "sh", "-c", "ulimit -v 3000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_beamsight")])
        .args(words)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(124), "{words:?} hangs");
    output
}

/// Expects one refusal that contains all of the words.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = held(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {:?}: {said}", output.status);
    assert!(!said.contains("panicked"), "{said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: no '{word}' in: {said}");
    }
}

/// Expects the case to open, and returns its remarks.
fn opened(path: &Path) -> String {
    let output = held(&["info", word(path)]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}: {said}", path.display());
    assert!(!said.contains("panicked"), "{said}");
    said
}

fn refused_file(folder: &Path, name: &str, bytes: &[u8], words: &[&str]) {
    let path = put(folder, name, bytes);
    refused(&["info", word(&path)], &[&[name], words].concat());
}

/// Two segments of one literal run each (PS3.5 annex G).
fn rle(words: &[u16]) -> Vec<u8> {
    let run = |shift: u32| -> Vec<u8> {
        [words.len() as u8 - 1].into_iter().chain(words.iter().map(move |w| (w >> shift) as u8)).collect()
    };
    let (high, low) = (run(8), run(0));
    let header = |n: usize| [2, 64, 64 + high.len() as u32].get(n).copied().unwrap_or(0);
    let mut bytes: Vec<u8> = (0..16).flat_map(|n| header(n).to_le_bytes()).collect();
    bytes.extend(high);
    bytes.extend(low);
    bytes
}

#[test]
fn rle_in_fragments() {
    let folder = scratch("attack-rle");
    let stream = rle(&[1000, 1001, 1002, 1003, 1004, 1300]);
    let pieces: Vec<&[u8]> = stream.chunks(2).collect();
    let data_set = [ct_header(3, 2, vec![]), fragments(&pieces)].concat();
    let path = put(&folder, "pieces.dcm", &file(RLE, &[], &data_set));
    assert!(opened(&path).contains("HU 0 to 300"));

    // No header; too many segments; segments elsewhere; too few pixels.
    let mut many = stream.clone();
    many[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut elsewhere = stream.clone();
    elsewhere[4..8].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
    let short = &stream[..stream.len() - 2];
    for (name, stream) in
        [("none.dcm", &stream[..3]), ("many.dcm", &many), ("else.dcm", &elsewhere), ("short.dcm", short)]
    {
        let data_set = [ct_header(3, 2, vec![]), fragments(&[stream])].concat();
        refused_file(&folder, name, &file(RLE, &[], &data_set), &["RLE"]);
    }
    // Several frames without a table of their offsets.
    let frames = text(0x0028_0008, b"IS", "3");
    let data_set = [ct_header(3, 2, vec![frames]), fragments(&pieces)].concat();
    refused_file(&folder, "frames.dcm", &file(RLE, &[], &data_set), &[]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn sequences_in_sequences() {
    let folder = scratch("attack-deep");
    for (name, syntax) in [("explicit.dcm", EXPLICIT), ("implicit.dcm", IMPLICIT)] {
        let one: Vec<u8> = if syntax == EXPLICIT {
            long(0x0008_1140, b"SQ", UNDEFINED)
        } else {
            bare(0x0008_1140, UNDEFINED)
        };
        let deep = [one, bare(0xfffe_e000, UNDEFINED)].concat().repeat(10_000);
        refused_file(&folder, name, &file(syntax, &[], &deep), &["nested", "32"]);
    }
    // A depth of thirty is accepted.
    let begin = [long(0x0008_1140, b"SQ", UNDEFINED), bare(0xfffe_e000, UNDEFINED)].concat().repeat(30);
    let end = [bare(0xfffe_e00d, 0), bare(0xfffe_e0dd, 0)].concat().repeat(30);
    let data_set = [ct_header(3, 2, vec![[begin, end].concat()]), pixels(&[1000; 6])].concat();
    opened(&put(&folder, "thirty.dcm", &file(EXPLICIT, &[], &data_set)));
    std::fs::remove_dir_all(folder).unwrap();
}

/// A JPEG of one component: its frame header, then an empty scan.
fn jpeg(marker: u8, bits: u8, columns: u16, rows: u16) -> Vec<u8> {
    let ([ch, cl], [rh, rl]) = (columns.to_be_bytes(), rows.to_be_bytes());
    let mut bytes = vec![0xff, 0xd8, 0xff, marker, 0, 11, bits, rh, rl, ch, cl, 1, 1, 0x11, 0];
    // A table of one code of one bit: difference 0.
    bytes.extend([0xff, 0xc4, 0, 20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend([0xff, 0xda, 0, 8, 1, 1, 0, 1, 0, 0]);
    bytes.resize(185_000, 0);
    bytes.extend([0xff, 0xd9]);
    bytes
}

#[test]
fn jpeg_larger_than_its_file() {
    let folder = scratch("attack-jpeg");
    let whole = |columns, rows, stream: &[u8], syntax| {
        file(syntax, &[], &[ct_header(columns, rows, vec![]), fragments(&[stream])].concat())
    };
    let large = jpeg(0xc3, 16, 65_500, 65_500);
    refused_file(&folder, "j.dcm", &whole(512, 512, &large, JPEG_LOSSLESS), &["65500 x 65500", "512 x 512"]);
    refused_file(&folder, "both.dcm", &whole(65_500, 65_500, &large, JPEG_LOSSLESS), &["of memory"]);
    // A stream decoded into half of each sample; several scans; another process; an empty stream.
    let (eight, progressive) = (jpeg(0xc3, 8, 512, 512), jpeg(0xc2, 16, 512, 512));
    refused_file(&folder, "bits.dcm", &whole(512, 512, &eight, JPEG_LOSSLESS), &["8 bits"]);
    refused_file(&folder, "prog.dcm", &whole(512, 512, &progressive, JPEG_LOSSLESS), &["SOF2"]);
    refused_file(&folder, "none.dcm", &whole(512, 512, &[0xff, 0xd8], JPEG_LOSSLESS), &["cut short"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A JPEG 2000 codestream of one component up to its first tile-part: SIZ, COD, QCD, SOT, SOD.
fn jpeg_2000(size: [u32; 2], tile: [u32; 2], layers: u16, precincts: &[u8]) -> Vec<u8> {
    let mut siz = vec![0, 0];
    for word in [size[0], size[1], 0, 0, tile[0], tile[1], 0, 0] {
        siz.extend(word.to_be_bytes());
    }
    siz.extend([0, 1, 15, 1, 1]);
    let [high, low] = layers.to_be_bytes();
    let mut cod = vec![u8::from(!precincts.is_empty()), 0, high, low, 0, 5, 4, 4, 0, 1];
    cod.extend(precincts);
    let segment = |marker: u8, content: &[u8]| {
        [&[0xff, marker], &(content.len() as u16 + 2).to_be_bytes()[..], content].concat()
    };
    let qcd = [&[0x40][..], &[0x80; 16]].concat();
    [
        vec![0xff, 0x4f],
        segment(0x51, &siz),
        segment(0x52, &cod),
        segment(0x5c, &qcd),
        segment(0x90, &[0, 0, 0, 0, 0, 0, 0, 1]),
        vec![0xff, 0x93, 0x80, 0xff, 0xd9],
    ]
    .concat()
}

#[test]
fn jpeg_2000_larger_than_its_file() {
    let folder = scratch("attack-j2k");
    for (name, stream, words) in [
        ("size.dcm", jpeg_2000([60_000; 2], [60_000; 2], 1, &[]), "60000 x 60000"),
        ("tiles.dcm", jpeg_2000([512; 2], [2, 3], 1, &[]), "tiles"),
        ("layers.dcm", jpeg_2000([512; 2], [512; 2], 65_535, &[]), "65535 layers"),
        ("precincts.dcm", jpeg_2000([512; 2], [512; 2], 1, &[0x11; 6]), "precincts"),
    ] {
        let data_set = [ct_header(512, 512, vec![]), fragments(&[&stream])].concat();
        refused_file(&folder, name, &file(JPEG_2000, &[], &data_set), &[words]);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// 4 MB that inflate to 4 GB: before the pixels, and as pixels of which the header needs six.
#[test]
fn deflated_bombs() {
    let folder = scratch("attack-deflate");
    let zeros = deflated_zeros(3900);
    assert!(zeros.len() < 4_500_000, "{}", zeros.len());
    let bomb = |header: &[u8], last: Vec<u8>| {
        // The bytes before the zeros are a stored block of their own.
        let data_set = [header, &last].concat();
        let length = data_set.len() as u16;
        let stored = [&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes(), &data_set].concat();
        file(DEFLATED, &[], &[stored, zeros.clone()].concat())
    };
    let length = 3900 << 20;
    let header = ct_header(3, 2, vec![]);
    refused_file(&folder, "before.dcm", &bomb(&header, long(0x0042_0011, b"OB", length)), &["of memory"]);
    // Groups of zeros are endless elements for a reader without a limit.
    let _ = opened_or_refused(&put(&folder, "pixels.dcm", &bomb(&header, long(0x7fe0_0010, b"OW", length))));
    let small = bomb(&ct_header(3, 2, vec![]), long(0x7fe0_0010, b"OB", UNDEFINED));
    refused_file(&folder, "fragments.dcm", &small, &["fragments.dcm"]);
    std::fs::remove_dir_all(folder).unwrap();
}

fn opened_or_refused(path: &Path) -> String {
    let output = held(&["info", word(path)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}: {said}", output.status);
    said
}

/// A sequence of VR UN is implicit inside (PS3.5 6.2.2): read as explicit, its values become lengths of gigabytes.
#[test]
fn a_sequence_of_unknown_vr() {
    let folder = scratch("attack-un");
    let value = [&bare(0x4453_1010, 8)[..], &[0xf0; 8]].concat();
    let item = [bare(0xfffe_e000, UNDEFINED), value, bare(0xfffe_e00d, 0)].concat();
    let sequence = |tag| [long(tag, b"UN", UNDEFINED), item.clone(), bare(0xfffe_e0dd, 0)].concat();
    for (name, tag) in [("private.dcm", 0x4453_100c), ("known.dcm", 0x0008_1140)] {
        let data_set = [ct_header(3, 2, vec![sequence(tag)]), pixels(&[1000; 6])].concat();
        opened(&put(&folder, name, &file(EXPLICIT, &[], &data_set)));
    }
    // A sequence whose inner lengths do not fit is refused.
    let long_one = [bare(0xfffe_e000, UNDEFINED), bare(0x4453_1010, 0xf0f0_f0f0)].concat();
    let data_set = [ct_header(3, 2, vec![]), long(0x4453_100c, b"UN", UNDEFINED), long_one].concat();
    refused_file(&folder, "long.dcm", &file(EXPLICIT, &[], &data_set), &["claims"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// 40 MB of empty items, and images that claim a larger size than their files have.
#[test]
fn many_small_things() {
    let folder = scratch("attack-many");
    let item = [bare(0xfffe_e000, 8), bare(0x0008_1150, 0)].concat();
    let items = item.repeat(1 << 20);
    let data_set = [bare(0x0008_1140, items.len() as u32), items].concat();
    refused_file(&folder, "items.dcm", &file(IMPLICIT, &[], &data_set), &["of memory"]);

    let series = folder.join("series");
    std::fs::create_dir(&series).unwrap();
    // The first is sound; each of the others claims 2 MB.
    for n in 0..1500u32 {
        let place = text(0x0020_0032, b"DS", &format!("0\\0\\{n}"));
        let number = text(0x0020_0013, b"IS", &n.to_string());
        let header = ct_header(1024, 1024, vec![place, number]);
        let data_set = if n == 0 { [header, pixels(&[1000; 1 << 20])].concat() } else { header };
        put(&series, &format!("{n}.dcm"), &file(EXPLICIT, &[], &data_set));
    }
    refused(&["info", word(&series)], &["0.dcm", "of memory"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A chunk of a PNG.
fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut sum = flate2::Crc::new();
    sum.update(kind);
    sum.update(content);
    [&(content.len() as u32).to_be_bytes()[..], kind, content, &sum.sum().to_be_bytes()].concat()
}

#[test]
fn pictures_larger_than_their_files() {
    let folder = scratch("attack-picture");
    let side = 30_000u32;
    let header = [&side.to_be_bytes()[..], &side.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    // 900 million zeros: the zlib checksum of n zeros is 1 and n, modulo 65521.
    let count = u64::from(side) * u64::from(side + 1);
    let rest = (count % (1 << 20)) as u32;
    let mut data = vec![0x78, 0x9c];
    data.extend(&deflated_zeros((count >> 20) as usize)[..]);
    data.truncate(data.len() - 2);
    // The remaining bytes as stored blocks, the last one marked.
    let mut left = rest;
    while left > 0 {
        let now = left.min(65_535) as u16;
        left -= u32::from(now);
        data.push(u8::from(left == 0));
        data.extend([now.to_le_bytes(), (!now).to_le_bytes()].concat());
        data.extend(vec![0; usize::from(now)]);
    }
    data.extend(((count % 65_521) as u32 * 65_536 + 1).to_be_bytes());
    let png =
        [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &header), &chunk(b"IDAT", &data), &chunk(b"IEND", &[])]
            .concat();
    let path = put(&folder, "large.png", &png);
    let too_large = |path: &Path| {
        let image = ["register", "demo:water", "--device", "cpu", "--image", word(path)];
        let place =
            ["--gantry", "0", "--isocentre", "0,0,0", "--sad", "1000", "--sid", "1500", "--pixel", "0.1"];
        refused(&[&image[..], &place].concat(), &["of memory"]);
    };
    too_large(&path);

    // A TIFF of one strip that claims the same.
    let entry = |tag: u16, kind: u16, count: u32, value: u32| {
        [&tag.to_le_bytes()[..], &kind.to_le_bytes(), &count.to_le_bytes(), &value.to_le_bytes()].concat()
    };
    let entries = [
        entry(256, 4, 1, side),
        entry(257, 4, 1, side),
        entry(258, 3, 1, 8),
        entry(259, 3, 1, 1),
        entry(262, 3, 1, 1),
        entry(273, 4, 1, 8),
        entry(278, 4, 1, side),
        entry(279, 4, 1, side * side),
    ];
    let tiff =
        [&b"II*\0\x08\0\0\0"[..], &(entries.len() as u16).to_le_bytes(), &entries.concat(), &[0; 4]].concat();
    too_large(&put(&folder, "large.tif", &tiff));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn volumes_and_texts_without_end() {
    let folder = scratch("attack-text");
    let header = "NDims = 3\nDimSize = 1000 1000 1000\nElementSpacing = 1 1 1\nElementType = MET_UCHAR\n\
                  CompressedData = True\nElementDataFile = LOCAL\n";
    let volume = [header.as_bytes(), &[0x78, 0x9c], &deflated_zeros(954)].concat();
    refused_file(&folder, "large.mha", &volume, &["of memory"]);
    let deep = "[".repeat(1_000_000);
    refused_file(
        &folder,
        "deep.json",
        format!("{{\"version\": 1, \"view\": {deep}").as_bytes(),
        &["not a session"],
    );
    let view = format!(
        "{{\"version\": 1, \"case\": \"demo:water\", \"plans\": [], \"view\": [{}0]}}",
        "[],".repeat(8 << 20)
    );
    refused_file(&folder, "view.json", view.as_bytes(), &["view"]);
    let plan = put(&folder, "deep.toml", format!("a = {deep}").as_bytes());
    refused(&["dose", "demo:water", "--plan", word(&plan)], &["deep.toml"]);
    let said = held(&["dose", "demo:water", "--plan", word(&plan)]).stderr;
    assert!(said.len() < 4000, "{} bytes of message", said.len());
    let long = put(&folder, "long.toml", "a = 1\n".repeat(4 << 20).as_bytes());
    refused(&["dose", "demo:water", "--plan", word(&long)], &["long.toml", "16.8 MB"]);
    refused(&["path", "demo:water", "--hu-table", word(&long)], &["long.toml", "1.0 MB"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[test]
fn pipes_devices_and_links() {
    let folder = scratch("attack-pipe");
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let named = |ending: &str| {
        let link = folder.join(format!("link.{ending}"));
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        link
    };
    refused(&["info", word(&pipe)], &["pipe", "named pipe"]);
    for ending in ["mha", "json"] {
        refused(&["info", word(&named(ending))], &["named pipe"]);
    }
    refused(&["info", "/dev/zero"], &["/dev/zero", "a device"]);
    let toml = named("toml");
    refused(&["dose", "demo:water", "--plan", word(&toml)], &["named pipe"]);
    refused(&["path", "demo:water", "--hu-table", word(&toml)], &["named pipe"]);
    refused(&["gamma", word(&pipe), word(&pipe)], &["named pipe"]);

    // A folder with a pipe and with links to itself, to another of its files, to nothing and out of it.
    let case = folder.join("case");
    let outside = folder.join("outside");
    std::fs::create_dir(&case).unwrap();
    std::fs::create_dir(&outside).unwrap();
    let image = |n: u32| {
        let place = text(0x0020_0032, b"DS", &format!("0\\0\\{n}"));
        file(EXPLICIT, &[], &[ct_header(3, 2, vec![place]), pixels(&[1000; 6])].concat())
    };
    put(&case, "0.dcm", &image(0));
    put(&outside, "secret.dcm", &image(2));
    assert!(Command::new("mkfifo").arg(case.join("fifo")).status().unwrap().success());
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, case.join(name)).unwrap();
    link(&case, "itself");
    link(&case.join("0.dcm"), "again.dcm");
    link(Path::new("nowhere"), "nowhere.dcm");
    link(&outside, "out");
    link(&outside.join("secret.dcm"), "out.dcm");
    let said = opened(&case);
    assert!(
        said.contains("1 images") && said.contains("2 link(s) lead out") && said.contains("out.dcm"),
        "{said}"
    );
    assert!(said.contains("pipes, sockets or devices were passed over [fifo]"), "{said}");
    // A link that is named itself is followed.
    opened(&case.join("out"));
    std::fs::remove_file(case.join("0.dcm")).unwrap();
    std::fs::remove_file(case.join("again.dcm")).unwrap();
    refused(&["info", word(&case)], &["no files", "2 link(s)"]);
    std::fs::remove_dir_all(folder).unwrap();
}
