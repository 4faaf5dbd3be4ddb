//! Why dose lands where it does: density, attenuation, spectrum, kernels, machine, fluence.

mod adjustment;
mod aperture;
mod attenuation_curve;
mod attenuators;
mod beyond;
mod curve;
mod exposure;
mod fluence;
mod focal;
mod given;
mod hu;
pub mod kernel;
pub mod kernel_beam;
pub mod kernel_fit;
mod leaf;
mod machine;
mod machine_file;
mod machine_text;
mod material;
mod normal;
mod patient;
mod scatter;
mod softening;
mod spectrum;

pub use adjustment::{Allowed, OFF_AXIS_NODES_MM, Parameter};
pub use attenuation_curve::{AttenuationCurve, CurveKind};
pub use attenuators::{CouchFactor, turns_couch};
pub use beyond::{BeyondEnd, BeyondTable, SOFT_TISSUE_HU};
pub use curve::Curve;
pub use exposure::{Exposure, Segment, exposures};
pub use fluence::{
    BeamletFluence, Fluence, FluenceError, FluenceTables, LEAST_SHARE, Picture, Shares, SpanTables,
    WideTables,
};
pub use given::Given;
pub use hu::{HuTable, HuTableError, Tissue};
pub use machine::{Calibration, Delivery, Electrons, ExtraFocal, JawModel, Leaves, Machine};
pub use machine_file::{MachineContents, MachineError};
pub use material::{Attenuation, Material};
pub use normal::normal_tables;
pub use patient::{BodyMismatch, Patient};
pub use softening::{Layer, Softening};
pub use spectrum::Spectrum;
