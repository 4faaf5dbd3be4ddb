//! What the tables of two papers need and no user runs: the walks of Xiao 2012 and the search of Gu 2010, for `bench` alone. Zhou's
//! batches need no kernel of their own (`bench::mccs`).

pub mod gu;
pub mod xiao;
