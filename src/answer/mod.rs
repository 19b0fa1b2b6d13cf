//! One answer from its first chunk to its last event. Pure.

pub mod event;
pub mod holdback;
