//! A digest of a file's content, by which a file is known as the one that was written.

use super::file::open_regular;
use std::io::{self, Read};
use std::path::Path;

/// The golden ratio in 64 bits, odd: a multiplication by it loses nothing.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Length and 64 bits of a regular file's content. Every step can be undone, so a change within eight bytes is always seen, and
/// several go unseen once in 2^64; it is no protection against forgery.
///
/// # Errors
/// Errors of the file system, or the kind of the path.
pub fn content_digest(path: &Path) -> io::Result<String> {
    content_digest_of(&mut open_regular(path)?.0)
}

/// The same of what is read.
///
/// # Errors
/// Errors of the reader.
pub fn content_digest_of(from: &mut impl Read) -> io::Result<String> {
    let (mut hash, mut length) = (FACTOR, 0u64);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let mut filled = 0;
        while filled < buffer.len() {
            match from.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        length += filled as u64;
        for chunk in buffer[..filled].chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
            hash ^= hash >> 32;
        }
        if filled < buffer.len() {
            return Ok(format!("{length}-{hash:016x}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_counts_and_so_do_bytes_that_are_zero() {
        let path = std::env::temp_dir().join(format!("beamsight-content-{}", std::process::id()));
        let content: Vec<u8> = (0..70_001u32).map(|n| (n * 7 + n / 251) as u8).collect();
        let first = digest_of(&content, &path);
        let mut seen = vec![
            first.clone(),
            digest_of(&content[..70_000], &path),
            digest_of(&[], &path),
            digest_of(&[0], &path),
            digest_of(&[0; 8], &path),
            digest_of(&[0; 9], &path),
        ];
        for byte in [0, 7, 8, 65_535, 65_536, 70_000] {
            for bit in [0, 7] {
                let mut other = content.clone();
                other[byte] ^= 1 << bit;
                seen.push(digest_of(&other, &path));
            }
        }
        // The signs of two numbers of 32 bits, and a stretch that is set to zero.
        let (mut signs, mut zeroed) = (content.clone(), content.clone());
        signs[7] ^= 0x80;
        signs[15] ^= 0x80;
        zeroed[40_000..48_000].fill(0);
        seen.extend([digest_of(&signs, &path), digest_of(&zeroed, &path)]);
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count);
        assert_eq!(digest_of(&content, &path), first, "the same again");
        std::fs::remove_file(&path).unwrap();
        assert!(content_digest(&std::env::temp_dir()).is_err());
    }

    fn digest_of(bytes: &[u8], path: &Path) -> String {
        std::fs::write(path, bytes).unwrap();
        content_digest(path).unwrap()
    }
}
