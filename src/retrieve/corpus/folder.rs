//! Reads a folder: which documents it holds, whether they changed, what is in them.
//!
//! One bad file never keeps the others from being found: it is skipped with a warning that names its path, never its text.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tracing::warn;

use super::super::passage::FileKind;

/// Largest file that is read, in bytes: no page that people read is longer, and the whole file is held in memory.
const LARGEST_FILE: u64 = 16 << 20;

/// Most files of one folder: with more, looking for changes takes too long, and the corpus belongs into a search server.
const MOST_FILES: usize = 100_000;

/// What tells without reading it that a file has probably not changed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    /// Bytes.
    size: u64,
    /// Nanoseconds since 1970; 0 when the file system does not say.
    modified: u64,
}

/// A document that a folder holds.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
    pub(super) stamp: Stamp,
}

/// A document's text, and the hash that tells whether it changed.
pub(super) struct Content {
    pub(super) text: String,
    /// SHA-256, in hex.
    pub(super) hash: String,
}

/// What a folder holds.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The documents by their path below the folder, with `/` between its parts.
    pub(super) files: BTreeMap<String, Found>,
    /// What could not be listed, for people.
    pub(super) problems: Vec<String>,
}

/// Lists the documents below `root`. Hidden files and folders are left out; links are followed, but no folder is entered
/// twice.
///
/// # Errors
/// Only when `root` itself cannot be read.
pub(super) fn list(root: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let mut entered = HashSet::from([root.canonicalize()?]);
    let mut folders = vec![(root.to_path_buf(), String::new())];
    fs::read_dir(root)?;
    while let Some((folder, prefix)) = folders.pop() {
        let entries = entries(&folder).unwrap_or_else(|why| {
            listing.problems.push(format!("cannot read {}: {why}", folder.display()));
            Vec::new()
        });
        for (path, name) in entries {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if metadata.is_dir() {
                if path.canonicalize().is_ok_and(|real| entered.insert(real)) {
                    folders.push((path, format!("{prefix}{name}/")));
                }
            } else if let Some(kind) = FileKind::of(&name).filter(|_| metadata.is_file()) {
                listing.files.insert(format!("{prefix}{name}"), Found { path, kind, stamp: Stamp::of(&metadata) });
            }
            if listing.files.len() >= MOST_FILES {
                listing.problems.push(format!("{} holds more than {MOST_FILES} documents", root.display()));
                return Ok(listing);
            }
        }
    }
    Ok(listing)
}

/// Entries of a folder with their names, sorted, without the hidden ones.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let named =
        fs::read_dir(folder)?.flatten().map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()));
    let mut visible: Vec<_> = named.filter(|(_, name)| !name.starts_with('.')).collect();
    visible.sort();
    Ok(visible)
}

/// Reads a document; `None`, with a warning, when it is too large, not readable or not UTF-8.
pub(super) fn read(found: &Found) -> Option<Content> {
    let path = found.path.display();
    if found.stamp.size > LARGEST_FILE {
        warn!(%path, bytes = found.stamp.size, most = LARGEST_FILE, "a document is too large and is left out");
        return None;
    }
    let bytes = match fs::read(&found.path) {
        Ok(bytes) => bytes,
        Err(why) => {
            warn!(%path, %why, "a document cannot be read and is left out");
            return None;
        }
    };
    let hash = format!("{:x}", Sha256::digest(&bytes));
    match String::from_utf8(bytes) {
        Ok(text) => Some(Content { text, hash }),
        Err(_) => {
            warn!(%path, "a document is not UTF-8 and is left out");
            None
        }
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
        Self { size: metadata.len(), modified }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{list, read};

    #[test]
    fn a_folder_is_walked_in_order() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("sub/deep")).unwrap();
        fs::create_dir_all(at(".hidden")).unwrap();
        for path in ["b.md", "a.txt", "sub/c.HTML", "sub/deep/d.md", "e.png", ".f.md", ".hidden/g.md"] {
            fs::write(at(path), "x").unwrap();
        }
        let found: Vec<String> = list(root.path()).unwrap().files.into_keys().collect();
        assert_eq!(found, ["a.txt", "b.md", "sub/c.HTML", "sub/deep/d.md"]);
        assert!(list(&at("nowhere")).is_err());
        assert!(list(&at("a.txt")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn link_loops_are_harmless() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("sub")).unwrap();
        fs::write(root.path().join("sub/a.md"), "x").unwrap();
        std::os::unix::fs::symlink(root.path(), root.path().join("sub/up")).unwrap();
        std::os::unix::fs::symlink(root.path().join("sub/a.md"), root.path().join("b.md")).unwrap();
        std::os::unix::fs::symlink(root.path().join("gone"), root.path().join("c.md")).unwrap();
        assert_eq!(list(root.path()).unwrap().files.into_keys().collect::<Vec<_>>(), ["b.md", "sub/a.md"]);
    }

    #[test]
    fn bad_files_are_skipped() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("latin1.txt"), b"caf\xe9").unwrap();
        fs::File::create(root.path().join("huge.md")).unwrap().set_len(super::LARGEST_FILE + 1).unwrap();
        fs::write(root.path().join("good.md"), "good").unwrap();
        let read: Vec<_> =
            list(root.path()).unwrap().files.into_values().map(|found| read(&found).map(|c| c.text)).collect();
        assert_eq!(read, [Some("good".to_owned()), None, None]);
    }
}
