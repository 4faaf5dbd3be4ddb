//! The engines and the queries of results for Python: arrays in, arrays out, with grid, status, caveats and receipt.
//!
//! The package `beamsight` (beside these files) re-exports this module and turns objects of other libraries (pydicom, SimpleITK)
//! into its own. Every answer comes from the query that window and verbs ask. Jobs run without the GIL ([`job`]); a
//! panic below becomes an exception at this border.

mod arithmetic;
mod arrays;
mod arrays_case;
mod by_protocol;
mod case;
mod check;
mod columns;
mod dlpack;
mod dose;
mod dose_job;
mod dvh;
mod errors;
mod export;
mod gamma;
mod grid;
mod handed;
mod html;
mod job;
mod json;
mod machine;
mod optimise;
mod path;
mod pickle;
mod plan;
mod radiograph;
mod register;
mod robust;
mod structure;
mod threads;
mod words;

use pyo3::prelude::*;

/// The compiled part of the package beamsight.
#[pymodule]
mod _beamsight {
    #[pymodule_export]
    use super::arrays_case::case_of_arrays;
    #[pymodule_export]
    use super::by_protocol::plan;
    #[pymodule_export]
    use super::case::{PyCase, PyCt, open_case};
    #[pymodule_export]
    use super::check::check;
    #[pymodule_export]
    use super::columns::PyCardColumns;
    #[pymodule_export]
    use super::dose::{PyDose, dose_of_image, facts, read};
    #[pymodule_export]
    use super::dose_job::compute;
    #[pymodule_export]
    use super::dvh::{PyDvh, dvh};
    #[pymodule_export]
    use super::export::export;
    #[pymodule_export]
    use super::gamma::{PyGamma, gamma};
    #[pymodule_export]
    use super::grid::PyGrid;
    #[pymodule_export]
    use super::machine::{check as machine_check, fit, machine_text, machines};
    #[pymodule_export]
    use super::optimise::{PyOptimum, optimise};
    #[pymodule_export]
    use super::path::{PyDepth, path};
    #[pymodule_export]
    use super::pickle::{
        restored_case, restored_ct, restored_dose, restored_dvh, restored_gamma, restored_plan,
        structure_of, structures_of,
    };
    #[pymodule_export]
    use super::plan::PyPlan;
    #[pymodule_export]
    use super::radiograph::{PyRadiograph, drr_of, radiograph};
    #[pymodule_export]
    use super::register::{PyRegistration, search};
    #[pymodule_export]
    use super::robust::{fractions, robust};
    #[pymodule_export]
    use super::structure::{PyStructure, PyStructures};
    #[pymodule_export]
    use super::threads::note_fork;

    /// Version of the program.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
