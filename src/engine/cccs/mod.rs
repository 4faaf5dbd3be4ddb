pub mod directions;
