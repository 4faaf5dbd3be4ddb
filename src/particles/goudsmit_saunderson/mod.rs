//! Multiple scattering of electrons and positrons by the theory of Goudsmit & Saunderson, Phys. Rev. 57, 24 (1940): the
//! single scattering of a medium, its moments, and quantile tables of the angle after many scatterings.

mod moments;
mod quantiles;
mod single_scattering;
mod table;

pub use moments::Moments;
pub use quantiles::{NODES, Quantiles, UnfittedMean, probability_at};
pub use single_scattering::SingleScattering;
pub use table::{AngleDraws, AngleGrid, AngleTable};
