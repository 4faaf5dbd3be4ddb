//! Damaged, odd and malicious files: the answer of each reader, and its memory.

mod attacks;
mod bytes;
mod doors;
mod odd;
