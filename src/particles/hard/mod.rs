//! Discrete interactions of charged particles: knock-on electrons above the production threshold, annihilation in flight.

pub mod annihilation;
pub mod bhabha;
pub mod moller;
