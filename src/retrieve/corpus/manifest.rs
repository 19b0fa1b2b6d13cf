//! Which files the index holds, and what must be done when the folder has others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::passage::passages;
use super::folder::{self, Found, Stamp};
use super::index::Update;

/// The indexed files by their path below the folder. Files that could not be read are listed too, so that they are
/// neither read nor reported again before they change.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(super) struct Manifest(BTreeMap<String, FileState>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct FileState {
    stamp: Stamp,
    /// `None`: the file could not be read.
    hash: Option<String>,
    passages: usize,
}

impl Manifest {
    /// Adds a document that is not in any folder.
    pub(super) fn insert_fixed(&mut self, name: &str, passages: usize) {
        self.0.insert(name.to_owned(), FileState { stamp: Stamp::default(), hash: Some(String::new()), passages });
    }

    /// True when no file came, went or was touched.
    pub(super) fn matches(&self, found: &BTreeMap<String, Found>) -> bool {
        self.0.len() == found.len()
            && self
                .0
                .iter()
                .zip(found)
                .all(|((name, known), (other, found))| name == other && known.stamp == found.stamp)
    }

    /// Makes the manifest and, through `update`, the index those of the files `found`. Reads only files whose stamp
    /// differs, and cuts only those whose content does.
    pub(super) fn follow(&mut self, found: &BTreeMap<String, Found>, update: &Update) -> tantivy::Result<()> {
        self.0.retain(|name, _| {
            let stays = found.contains_key(name);
            if !stays {
                update.remove(name);
            }
            stays
        });
        for (name, file) in found {
            if self.0.get(name).is_none_or(|known| known.stamp != file.stamp) {
                self.follow_file(name, file, update)?;
            }
        }
        Ok(())
    }

    fn follow_file(&mut self, name: &str, file: &Found, update: &Update) -> tantivy::Result<()> {
        let content = folder::read(file);
        let hash = content.as_ref().map(|content| content.hash.clone());
        if let Some(known) = self.0.get_mut(name).filter(|known| known.hash == hash) {
            known.stamp = file.stamp;
            return Ok(());
        }
        update.remove(name);
        let passages = content.map(|content| passages(name, file.kind, &content.text)).unwrap_or_default();
        update.add(name, &passages)?;
        self.0.insert(name.to_owned(), FileState { stamp: file.stamp, hash, passages: passages.len() });
        Ok(())
    }

    /// How many files could be read.
    pub(super) fn documents(&self) -> usize {
        self.0.values().filter(|file| file.hash.is_some()).count()
    }

    /// How many passages they were cut into.
    pub(super) fn passages(&self) -> usize {
        self.0.values().map(|file| file.passages).sum()
    }
}
