//! Code for the tables of two papers, for `bench` alone: the walks of Xiao 2012 and the search of Gu 2010. Zhou's
//! batches need no kernel of their own (`bench::mccs`).

pub mod gu;
