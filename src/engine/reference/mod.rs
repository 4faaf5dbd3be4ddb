//! The jobs as in their papers, plain and slow: references for the fast forms on small cases.

pub mod cccs;
pub mod influence;
pub mod path;
