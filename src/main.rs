//! The process.

fn main() {}
