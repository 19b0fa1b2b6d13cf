//! **citewire** is a streaming citation gateway. It stands between a language model and the people who read its answers: it
//! numbers the sources, forwards the model's text through a hold-back emitter so that half a marker never reaches a screen,
//! checks every citation when the text is complete, and sends an *annotate* or a *replace* event.
//!
//! # The house
//! Pure rooms know no clock, randomness, environment, `async` or logging, and cannot fail on any text. They build alone with
//! `default-features = false`.
//!
//! | room | turns | into |
//! |---|---|---|
//! | [`cite`] | text and sources | markers, citations, problems |
//! | [`answer`] | chunks | released text and a settlement |
//! | [`prompt`] | a question and its sources | messages for a model |
//! | [`wire`] | records | the bytes of a protocol |
//! | [`words`] | text | the words that carry its meaning, and what a question asks for |
//!
//! The others do I/O (feature `gateway`, on by default):
//!
//! | room | turns | into |
//! |---|---|---|
//! | `retrieve` | a question | passages |
//! | `model` | messages | chunks |
//! | `log` | events | records that anybody can follow from any place |
//! | `session` | chunks | events in the log; deadlines |
//! | `trace` | the steps of an answer | JSON lines |
//! | `config` | flags, environment, a file | one checked configuration |
//! | `gateway` | a question | an open answer: retrieve, prompt, model, session, log |
//! | `http`, `cli` | requests, arguments | questions, and records back |
//!
//! # The flow
//! ```text
//! request -> http (parse into domain types) -> retrieve -> [no sources: refuse, no model call]
//!         -> prompt -> model ==Chunk==> session -> machine (hold back, check, settle) ==Event==> log
//! client <- http <==frame== wire::encode <==record== log.follow(answer, after) <=================/
//! ```
//! *The log stands in the middle*: a session only appends, every client only follows, so the first reader is already a resume
//! from the start. *Whoever reads, drives*: a follower that finds nothing new polls the session with its own waker; no task and
//! no channel stands between the model's socket and the client's.
//!
//! # Invariants
//! - Imports go one way: `words <- cite <- answer <- wire`; `retrieve`, `model`, `log` know the pure rooms' data only; `session` knows
//!   answer, model and log; `gateway` knows these; `http` and `cli` know all. Only `http` names axum, only `model/openai` names
//!   async-openai, only `wire` names a protocol's fields. `tests/house.rs` checks it.
//! - Silence is not success: only a finish reason settles an answer.
//! - Everything that grows has a ceiling, and the ceiling has a name in `config`.
//! - Text from models, sources and requests is data, never an instruction, markup or a reason to fail.

pub mod answer;
pub mod cite;
pub mod prompt;
pub mod wire;
pub mod words;

#[cfg(feature = "gateway")]
pub mod cli;
#[cfg(feature = "gateway")]
pub mod config;
#[cfg(feature = "gateway")]
pub mod gateway;
#[cfg(feature = "gateway")]
pub mod http;
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
