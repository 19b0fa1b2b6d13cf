//! The gateway over real sockets: a server in this process, a client that controls every byte, and a model that says what
//! the test writes. Everything is bounded by time; nothing sleeps to wait.
#![cfg(feature = "gateway")]
#![expect(clippy::panic, clippy::unwrap_used, reason = "what cannot be set up fails the test")]

mod bad;
mod cases;
mod ceilings;
mod client;
mod deadlines;
mod drain;
mod followers;
mod garbage;
mod gate;
mod gone;
mod law;
mod model;
mod resume;
mod routes;
mod settle;
mod shape;
mod silence;
mod sse;
mod through;

#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code, reason = "each test binary uses its own part")]
#[path = "../model_torture/server.rs"]
mod upstream;
