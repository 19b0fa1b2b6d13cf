//! Turns finished text and its sources into judged citations and problems. Pure: no clock, no I/O, no failure on any text.
//!
//! - [`source`]: the numbered sources of one answer.
//! - [`span`]: half-open byte ranges and their UTF-16 and code-point twins.

pub mod source;
pub mod span;
