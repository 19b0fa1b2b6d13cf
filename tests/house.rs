//! The rules of the house: who may import whom, what pure rooms may name, how large a file may grow.
#![allow(clippy::unwrap_used, clippy::string_slice, clippy::panic, reason = "a test that stumbles must fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every source file below `src`, with its path from there.
fn files() -> BTreeMap<String, String> {
    fn walk(dir: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    walk(&root, &root, &mut found);
    assert!(found.len() > 40, "the walk found the house");
    found
}

fn room(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap_or_default()
}

/// The code of a file: no comments, nothing behind the first test module.
fn code(text: &str) -> String {
    let lines = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    lines.filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// Rooms that `code` names through `crate::`.
fn imports(code: &str) -> Vec<&str> {
    code.split("crate::")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
        .collect()
}

const PURE: [&str; 5] = ["answer", "cite", "prompt", "wire", "words"];

#[test]
fn imports_go_one_way() {
    let allowed = |room: &str| -> &[&str] {
        match room {
            "cite" => &["cite", "words"],
            "words" => &["words"],
            "answer" => &["answer", "cite"],
            "prompt" => &["cite"],
            "wire" => &["wire", "answer", "cite", "prompt"],
            "retrieve" => &["retrieve", "cite", "words"],
            "model" => &["model", "answer", "cite", "prompt", "words"],
            "log" => &["log", "answer", "cite"],
            "trace" => &["answer", "log", "prompt"],
            "session" => &["answer", "cite", "log", "model", "trace"],
            "config" => &["answer", "cite", "log", "session"],
            "gateway" => {
                &["answer", "cite", "config", "log", "model", "prompt", "retrieve", "session", "trace", "wire"]
            }
            _ => &["answer", "cite", "cli", "config", "gateway", "http", "log", "model", "prompt", "wire"],
        }
    };
    for (file, text) in files() {
        for imported in imports(&code(&text)) {
            let ok = allowed(room(&file)).contains(&imported);
            assert!(ok, "{file} imports crate::{imported}, which its room may not");
        }
    }
}

#[test]
fn pure_rooms_are_pure() {
    let banned = [
        "tokio",
        "std::time",
        "std::env",
        "std::fs",
        "std::net",
        "std::thread",
        "async ",
        "tracing",
        "rand",
        "println!",
        "Mutex",
    ];
    for (file, text) in files().iter().filter(|(f, _)| PURE.contains(&room(f))) {
        for word in banned {
            assert!(!code(text).contains(word), "{file} names {word}");
        }
    }
}

#[test]
fn libraries_stay_in_their_rooms() {
    for (file, text) in files() {
        let code = code(&text);
        for (library, home) in [
            ("axum", "http/"),
            ("async_openai", "model/openai/"),
            ("tantivy", "retrieve/"),
            ("clap", "cli/ config/ config."),
            ("anstream", "cli/"),
        ] {
            let named = code.contains(&format!("{library}::"));
            assert!(!named || home.split(' ').any(|h| file.starts_with(h)), "{file} names {library}");
        }
        for field in ["start_u16", "\"choices\"", "event: delta"] {
            let named = code.contains(field);
            let home = ["wire/", "model/openai/"].iter().any(|h| file.starts_with(h));
            assert!(!named || home, "{file} names the protocol's field {field}");
        }
    }
}

#[test]
fn files_stay_small() {
    for (file, text) in files() {
        let lines = text.lines().count();
        assert!(lines <= 450, "{file} has {lines} lines: does it still have one reason to change?");
    }
}

#[test]
fn the_map_names_every_room() {
    let files = files();
    let map = &files["lib.rs"];
    for room in files.keys().map(|f| room(f)).filter(|r| !matches!(*r, "lib" | "main")) {
        assert!(map.contains(&format!("`{room}`")), "lib.rs does not say what {room} is for");
    }
}
