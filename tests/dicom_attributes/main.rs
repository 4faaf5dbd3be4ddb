//! Every attribute of an RT plan, a structure set and a dose that a number depends on, and what happens where it is missing,
//! unreadable, out of range or contradicts another: one table an object, and a test that goes through all rows.

#[path = "../common/synthetic.rs"]
mod synthetic;

mod dose;
mod plan;
mod structures;
mod table;
