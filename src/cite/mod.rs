//! Turns finished text and its sources into judged citations and problems. Pure: no clock, no I/O, no failure on any text.
//!
//! - [`check`]: every check about markers; citations and problems.
//! - [`context`]: which stretches of Markdown hold no citations.
//! - [`marker`]: the grammar of citations, and what looks like one.
//! - [`source`]: the numbered sources of one answer.
//! - [`span`]: half-open byte ranges and their UTF-16 and code-point twins.

pub mod check;
pub mod context;
pub mod marker;
pub mod source;
pub mod span;
