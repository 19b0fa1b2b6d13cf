//! One answer from its first chunk to its last event. Pure: no clock, no I/O.
//!
//! - [`event`]: what comes in and what goes out.
//! - [`failure`]: the closed list of errors.
//! - [`holdback`]: the emitter that never lets half a marker through.
//! - [`machine`]: chunks in, events out.
//! - [`settle`](mod@settle): keep, strip or refuse. `strip` does the cutting.

pub mod event;
pub mod failure;
pub mod holdback;
pub mod machine;
pub mod settle;
mod strip;
