//! Turns records into the bytes of a protocol. Pure: `encode` sees a record and the answer's fixed facts, nothing else.
//!
//! - [`native`]: citewire's own Server-Sent Events and record.

pub mod native;
