//! Every attribute of an RT plan, a structure set and a dose that a number depends on, with the outcome where
//! it is missing, unreadable, out of range or contradictory: one table an object, and a test of all rows.

mod dose;
mod plan;
mod structures;
mod table;
