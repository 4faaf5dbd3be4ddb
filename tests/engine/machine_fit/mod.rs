//! A machine fitted to measured data: readers of the data, and fits whose truth is known.

mod fit;
mod readers;
