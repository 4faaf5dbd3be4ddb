//! Checks the headers of compressed pixels before a decoder allocates memory for them.

/// A frame as its file describes it.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub columns: usize,
    pub rows: usize,
    /// Bytes of a sample: 1, 2 or 4.
    pub bytes: usize,
}

impl Frame {
    pub fn pixels(self) -> usize {
        self.columns * self.rows
    }

    fn check(self, columns: usize, rows: usize, components: usize) -> Result<(), String> {
        let Self {
            columns: own_columns,
            rows: own_rows,
            ..
        } = self;
        if (columns, rows) != (own_columns, own_rows) {
            return Err(format!(
                "its compressed pixels are {columns} x {rows}, its Columns and Rows {own_columns} x {own_rows}"
            ));
        }
        if components != 1 {
            return Err(format!(
                "its compressed pixels have {components} components where 1 belongs"
            ));
        }
        Ok(())
    }

    fn check_bits(self, bits: u8, fit: bool) -> Result<(), String> {
        let allocated = 8 * self.bytes;
        if fit {
            Ok(())
        } else {
            Err(format!(
                "its compressed pixels have {bits} bits, its BitsAllocated are {allocated}"
            ))
        }
    }
}

/// Checks a JPEG stream (ITU-T T.81, annex B): one frame of the file's size, baseline, extended or lossless,
/// and one scan, as one component has.
///
/// # Errors
/// Contradictions with the file, or a malformed stream.
pub fn check_jpeg(stream: &[u8], frame: Frame) -> Result<(), String> {
    const CUT_SHORT: &str = "its JPEG pixels are cut short";
    let mut remaining = stream
        .strip_prefix(&[0xff, 0xd8])
        .ok_or("its JPEG pixels do not begin as JPEG does")?;
    let mut sized = false;
    loop {
        let [0xff, marker, after @ ..] = remaining else {
            return Err(CUT_SHORT.to_owned());
        };
        match marker {
            // Fill bytes before a marker.
            0xff => {
                remaining = &remaining[1..];
                continue;
            }
            0x01 | 0xd0..=0xd9 => return Err("its JPEG pixels have no scan".to_owned()),
            _ => {}
        }
        let [high, low, segment @ ..] = after else {
            return Err(CUT_SHORT.to_owned());
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let segment = segment.get(..length.saturating_sub(2)).ok_or(CUT_SHORT)?;
        remaining = &after[length.max(2)..];
        match marker {
            0xc0 | 0xc1 | 0xc3 if !sized => {
                let &[bits, a, b, c, d, components, ..] = segment else {
                    return Err(CUT_SHORT.to_owned());
                };
                let [rows, columns] = [[a, b], [c, d]].map(u16::from_be_bytes).map(usize::from);
                frame.check(columns, rows, usize::from(components))?;
                // The decoder returns one byte for each sample of up to eight bits, else two.
                frame.check_bits(bits, usize::from(bits).div_ceil(8) == frame.bytes)?;
                sized = true;
            }
            // The markers of tables and of an arithmetic coder's conditioning lie among the frames' markers.
            0xc4 | 0xc8 | 0xcc => {}
            0xc0..=0xcf => {
                return Err(format!(
                    "its pixels are a kind of JPEG that is not read (SOF{})",
                    marker - 0xc0
                ));
            }
            0xda if !sized => return Err("its JPEG pixels have no frame header".to_owned()),
            0xda => {
                // Inside a scan, FF is followed by 0 or is a restart: another scan begins with a marker.
                let again = remaining.windows(2).any(|pair| pair == [0xff, 0xda]);
                return if again {
                    Err("its JPEG pixels have several scans".to_owned())
                } else {
                    Ok(())
                };
            }
            _ => {}
        }
    }
}

const CUT_SHORT: &str = "its JPEG 2000 pixels are cut short";

/// Checks a JPEG 2000 codestream (ITU-T T.800, annex A): one component of the file's size, and tiles, layers
/// and precincts that keep a decoder's tables small.
///
/// # Errors
/// Contradictions with the file, or a malformed stream.
pub fn check_jpeg_2000(stream: &[u8], frame: Frame) -> Result<(), String> {
    let mut remaining = bare_codestream(stream)?;

    remaining = remaining
        .strip_prefix(&[0xff, 0x4f])
        .ok_or("its JPEG 2000 pixels do not begin as JPEG 2000 does")?;
    let mut first = true;
    let mut tile_part: Option<&[u8]> = None;
    loop {
        let [0xff, marker, after @ ..] = remaining else {
            return Err(CUT_SHORT.to_owned());
        };
        // Between tile-parts: the end of the stream.
        if *marker == 0xd9 {
            return Ok(());
        }
        // The data of a tile-part: its length leads to the next.
        if *marker == 0x93 {
            match tile_part.take() {
                // One byte may fill up a fragment.
                Some(next) if next.len() > 1 => remaining = next,
                _ => return Ok(()),
            }
            continue;
        }
        let [high, low, segment @ ..] = after else {
            return Err(CUT_SHORT.to_owned());
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let segment = segment.get(..length.saturating_sub(2)).ok_or(CUT_SHORT)?;
        if first != (*marker == 0x51) {
            return Err("its JPEG 2000 pixels do not begin with their size".to_owned());
        }
        first = false;
        match marker {
            0x51 => check_size(segment, frame)?,
            0x52 => check_style(
                segment.get(5..).ok_or(CUT_SHORT)?,
                segment[0],
                layers(segment),
            )?,
            // One component: its number has one byte.
            0x53 => check_style(segment.get(2..).ok_or(CUT_SHORT)?, segment[1], 1)?,
            0x5f => {
                return Err(
                    "the packets of its JPEG 2000 pixels are in an order that is not read"
                        .to_owned(),
                );
            }
            0x90 => {
                let &[_, _, a, b, c, d, ..] = segment else {
                    return Err(CUT_SHORT.to_owned());
                };
                // A length of 0 marks the last tile-part, which extends to the end.
                let bytes = u32::from_be_bytes([a, b, c, d]) as usize;
                if bytes != 0 && (bytes < 12 || bytes > remaining.len()) {
                    return Err(CUT_SHORT.to_owned());
                }
                tile_part = (bytes != 0).then(|| &remaining[bytes..]);
            }
            _ => {}
        }
        remaining = &after[length.max(2)..];
    }
}

/// The codestream of a JP2 file, where the stream is wrapped in one.
fn bare_codestream(stream: &[u8]) -> Result<&[u8], String> {
    const SIGNATURE: &[u8] = b"\0\0\0\x0cjP  ";
    if !stream.starts_with(SIGNATURE) {
        return Ok(stream);
    }
    let mut boxes = stream;
    while let [a, b, c, d, k0, k1, k2, k3, content @ ..] = boxes {
        if [*k0, *k1, *k2, *k3] == *b"jp2c" {
            return Ok(content);
        }
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        boxes = boxes.get(length.max(8)..).unwrap_or_default();
    }
    Err("its JP2 file holds no codestream".to_owned())
}

/// SIZ: image, tiles, components (A.5.1).
fn check_size(segment: &[u8], frame: Frame) -> Result<(), String> {
    const TILES_MOST: usize = 4096;

    let (fixed, components) = segment.split_at_checked(36).ok_or(CUT_SHORT)?;
    let [
        width,
        height,
        left,
        top,
        tile_width,
        tile_height,
        tile_left,
        tile_top,
    ] = std::array::from_fn(|n| {
        let word = &fixed[2 + 4 * n..][..4];
        u32::from_be_bytes([word[0], word[1], word[2], word[3]]) as usize
    });
    let count = usize::from(u16::from_be_bytes([fixed[34], fixed[35]]));
    let &[depth, across, down, ..] = components else {
        return Err(CUT_SHORT.to_owned());
    };
    frame.check(
        width.saturating_sub(left),
        height.saturating_sub(top),
        count,
    )?;
    let bits = (depth & 0x7f) + 1;
    frame.check_bits(bits, usize::from(bits) <= 8 * frame.bytes)?;
    if (across, down) != (1, 1) {
        return Err("its JPEG 2000 pixels are subsampled".to_owned());
    }
    let tiles_across = width.saturating_sub(tile_left).div_ceil(tile_width.max(1));
    let tiles_down = height.saturating_sub(tile_top).div_ceil(tile_height.max(1));
    let count = tiles_across.saturating_mul(tiles_down);
    if tile_width == 0 || tile_height == 0 || count > TILES_MOST {
        return Err(format!(
            "its JPEG 2000 pixels are in {count} tiles of {tile_width} x {tile_height}"
        ));
    }
    Ok(())
}

/// Number of layers of a COD segment.
fn layers(segment: &[u8]) -> u16 {
    u16::from_be_bytes([segment[2], segment[3]])
}

/// The coding style of COD and COC (A.6.1): `style` begins with the number of decomposition levels.
fn check_style(style: &[u8], flags: u8, layers: u16) -> Result<(), String> {
    const LAYERS_MOST: u16 = 256;
    // Precincts are at least 32 x 32: each has its tables.
    const LEAST_EXPONENT: u8 = 5;
    let &[levels, _, _, _, _, ref precincts @ ..] = style else {
        return Err(CUT_SHORT.to_owned());
    };
    if levels > 32 || layers > LAYERS_MOST {
        return Err(format!(
            "its JPEG 2000 pixels have {levels} levels and {layers} layers"
        ));
    }
    let mut sizes = precincts.iter().take(usize::from(levels) + 1);
    if flags & 1 == 1 && sizes.any(|p| p & 0xf < LEAST_EXPONENT || p >> 4 < LEAST_EXPONENT) {
        return Err("its JPEG 2000 pixels are in very small precincts".to_owned());
    }
    Ok(())
}

/// Decodes a frame of RLE (PS3.5 annex G): a segment for each byte of a sample, the highest first. Samples
/// are returned little endian.
///
/// # Errors
/// Missing segments, or segments with other than the frame's pixels.
pub fn decode_rle(stream: &[u8], frame: Frame) -> Result<Vec<u8>, String> {
    const HEADER_BYTES: usize = 64;
    let Some(header) = stream.get(..HEADER_BYTES) else {
        return Err("its RLE pixels have no header".to_owned());
    };
    let words: Vec<usize> = header
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
        .collect();
    let count = words[0];
    if count != frame.bytes {
        return Err(format!(
            "its RLE pixels have {count} segments where {} belong",
            frame.bytes
        ));
    }
    let mut samples = vec![0; frame.pixels() * frame.bytes];
    for segment in 0..count {
        let end = if segment + 1 < count {
            words[segment + 2]
        } else {
            stream.len()
        };
        let bytes = stream
            .get(words[segment + 1]..end)
            .filter(|_| words[segment + 1] >= HEADER_BYTES);
        let bytes = bytes.ok_or_else(|| {
            format!(
                "segment {} of its RLE pixels is not where it says",
                segment + 1
            )
        })?;
        let to = samples[count - 1 - segment..].iter_mut().step_by(count);
        let missing = unpack_bits(bytes, to);
        if missing > 0 {
            return Err(format!(
                "segment {} of its RLE pixels lacks {missing} pixels",
                segment + 1
            ));
        }
    }
    Ok(samples)
}

/// PackBits: runs of literal bytes, and of one byte repeated. Returns the number of places left without data.
fn unpack_bits<'a>(mut bytes: &[u8], mut to: impl ExactSizeIterator<Item = &'a mut u8>) -> usize {
    while let [control, after_control @ ..] = bytes {
        let (run, used): (usize, usize) = match control {
            0..=127 => (usize::from(*control) + 1, usize::from(*control) + 1),
            128 => (0, 0),
            129..=255 => (257 - usize::from(*control), 1),
        };
        let Some(values) = after_control.get(..used) else {
            break;
        };
        for n in 0..run {
            match to.next() {
                Some(place) => *place = values[if used == 1 { 0 } else { n }],
                None => return 0,
            }
        }
        bytes = &after_control[used..];
    }
    to.len()
}
