//! citewire: a streaming citation gateway.

pub mod answer;
pub mod cite;
pub mod prompt;
pub mod wire;

#[cfg(feature = "gateway")]
pub mod config;
#[cfg(feature = "gateway")]
pub mod log;
#[cfg(feature = "gateway")]
pub mod model;
#[cfg(feature = "gateway")]
pub mod retrieve;
#[cfg(feature = "gateway")]
pub mod session;
#[cfg(feature = "gateway")]
pub mod trace;
