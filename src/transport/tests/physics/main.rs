//! Physics of the transport against values got another way. Long runs of the same are ignored: `cargo test --release -p
//! beamsight-transport -- --ignored --nocapture` tells their figures.

mod backscatter;
mod charged;
mod common;
mod depth_dose;
mod fano;
mod kernels;
mod ledger;
