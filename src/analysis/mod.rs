//! DVH and plan figures.
