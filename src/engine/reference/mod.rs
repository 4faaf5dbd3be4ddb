//! The jobs as their papers have them, plain and slow: what the fast forms are judged by on small cases.

pub mod cccs;
pub mod path;
