//! Monte Carlo convolution/superposition on the CPU. The four steps of Zhou 2010, Sec. 2.1, each history by
//! itself and from its own random numbers ([`philox`](transport::philox)):
//!
//! 1. and 2. [`head`](crate::histories::head): a photon is drawn from its source and followed through jaws and leaves, as a weight.
//! 3. [`flight`]: where in the patient it interacts, by the voxel walk.
//! 4. [`deposit`]: its energy along directions turned to its own, by cumulative kernels over radiological length.
//!
//! Deposits are whole numbers of quanta, so that a batch is the same for any number of threads.

mod batch;
mod deposit;
mod flight;

use super::simulation::Simulation;
use crate::histories::OnCpu;

pub(crate) type Histories = OnCpu<Simulation>;
