//! Finds passages in documents: the built-in handbook, or a folder of Markdown, text and HTML files that is read again
//! when it changes.
//!
//! A folder's index is kept on disk, so that a restart reads only what changed. Nothing depends on that: an index that is
//! damaged, of another version or being changed by another process is built anew, in memory if need be.

mod folder;
mod index;
mod manifest;
mod search;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tracing::warn;

use self::index::Index;
use self::manifest::Manifest;
use super::passage::{FileKind, passages};
use super::{RetrieveError, Retriever, handbook};
use crate::cite::source::Source;
use crate::words::question::Question;

/// Least time between two looks for changed files: someone who saves a file and asks again sees the new text.
const REFRESH_EVERY: Duration = Duration::from_secs(2);

/// A look that takes long is repeated after this many times its duration, so that looking stays below 2 % of the time.
const REFRESH_SHARE: u32 = 50;

/// Time until the next look after one that failed, so that a full disk is not reported at every question.
const REFRESH_AFTER_FAILURE: Duration = Duration::from_secs(60);

/// How long a question waits for changed files. Past it the search goes on with what is known, and the new text is found
/// by a later question.
const REFRESH_WAIT: Duration = Duration::from_millis(50);

/// Documents that can be searched. Cheap to clone.
#[derive(Clone)]
pub struct Corpus(Arc<Inner>);

/// How much a corpus holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Files that could be read.
    pub documents: usize,
    /// Pieces they were cut into.
    pub passages: usize,
}

struct Inner {
    name: String,
    index: Index,
    /// `None` for the handbook, which never changes.
    root: Option<PathBuf>,
    /// Locked while the index is changed.
    known: Mutex<Known>,
    /// When to look for changes.
    due: Mutex<Instant>,
}

/// What is known about the folder.
struct Known {
    /// The files that the index holds.
    manifest: Manifest,
    /// Problems that were reported, so that each is reported once.
    problems: Vec<String>,
}

impl Corpus {
    /// The built-in handbook, indexed in memory.
    ///
    /// # Errors
    /// [`RetrieveError::Index`] when there is no memory or no thread for it.
    pub fn builtin() -> Result<Self, RetrieveError> {
        let index = Index::in_ram()?;
        let update = index.update()?;
        let mut manifest = Manifest::default();
        for (file, text) in handbook::PAGES {
            let passages = passages(file, FileKind::Markdown, text);
            update.add(file, &passages)?;
            manifest.insert_fixed(file, passages.len());
        }
        update.commit(&manifest)?;
        index.reload()?;
        Ok(Self::new(handbook::NAME.to_owned(), index, None, manifest))
    }

    /// The documents below `docs`, with their index in a folder of its own below `index_dir`.
    ///
    /// # Errors
    /// [`RetrieveError::Read`] when `docs` is not a folder that can be read; [`RetrieveError::Index`] when not even an
    /// index in memory can be made.
    pub fn open(docs: &Path, index_dir: &Path) -> Result<Self, RetrieveError> {
        let root = docs.canonicalize().map_err(|why| unreadable(docs, why))?;
        let name =
            root.file_name().map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into_owned());
        let home = index_dir.join(home_name(&root));
        match Self::on_disk(&name, &root, &home) {
            Err(RetrieveError::Index { why }) => {
                warn!(folder = %home.display(), why, "the document index cannot be kept on disk, building it in memory");
                let corpus = Self::new(name, Index::in_ram()?, Some(root), Manifest::default());
                corpus.refresh()?;
                Ok(corpus)
            }
            opened => opened,
        }
    }

    fn on_disk(name: &str, root: &Path, home: &Path) -> Result<Self, RetrieveError> {
        let index = if home.exists() {
            Index::open(home).or_else(|why| {
                warn!(folder = %home.display(), %why, "the document index cannot be used, building it anew");
                std::fs::remove_dir_all(home)?;
                Index::create(home)
            })?
        } else {
            Index::create(home)?
        };
        let manifest = index.manifest()?;
        let corpus = Self::new(name.to_owned(), index, Some(root.to_path_buf()), manifest);
        corpus.refresh()?;
        Ok(corpus)
    }

    fn new(name: String, index: Index, root: Option<PathBuf>, manifest: Manifest) -> Self {
        let known = Mutex::new(Known { manifest, problems: Vec::new() });
        let due = Mutex::new(Instant::now() + REFRESH_EVERY);
        Self(Arc::new(Inner { name, index, root, known, due }))
    }

    /// How much it holds, for the start-up message.
    #[must_use]
    pub fn size(&self) -> Size {
        let known = lock(&self.0.known);
        Size { documents: known.manifest.documents(), passages: known.manifest.passages() }
    }

    /// Brings the index up to date with the folder, if another process has not done so: looks at every file's size and time, reads those that differ, cuts
    /// those whose content differs. True when anything changed. Blocks.
    ///
    /// # Errors
    /// [`RetrieveError`] when the folder is gone or the index cannot be written; searches go on with the old state.
    pub fn refresh(&self) -> Result<bool, RetrieveError> {
        let Some(root) = &self.0.root else { return Ok(false) };
        let mut known = lock(&self.0.known);
        let folder::Listing { files, problems } = folder::list(root).map_err(|why| unreadable(root, why))?;
        problems.iter().filter(|problem| !known.problems.contains(problem)).for_each(|problem| warn!("{problem}"));
        known.problems = problems;
        if known.manifest.matches(&files) {
            return Ok(false);
        }
        let index = &self.0.index;
        let mut stored = index.manifest()?;
        if !stored.matches(&files) {
            let update = index.update()?;
            stored = index.manifest()?;
            stored.follow(&files, &update)?;
            update.commit(&stored)?;
        }
        index.reload()?;
        known.manifest = stored;
        Ok(true)
    }

    /// Refreshes when it is time to, and waits for it a short while.
    async fn refresh_if_due(&self) {
        {
            let mut due = lock(&self.0.due);
            if self.0.root.is_none() || Instant::now() < *due {
                return;
            }
            // Nobody else looks meanwhile, and should this look never end, somebody will.
            *due = Instant::now() + REFRESH_AFTER_FAILURE;
        }
        let corpus = self.clone();
        let refreshed = tokio::task::spawn_blocking(move || {
            let started = Instant::now();
            let pause = match corpus.refresh() {
                Ok(_) => REFRESH_EVERY.max(started.elapsed() * REFRESH_SHARE),
                Err(why) => {
                    warn!(%why, "looking for changed documents failed");
                    REFRESH_AFTER_FAILURE
                }
            };
            *lock(&corpus.0.due) = Instant::now() + pause;
        });
        let _ = tokio::time::timeout(REFRESH_WAIT, refreshed).await;
    }

    /// Passages for `question`, best first, at most `top_k`; empty when the documents cannot answer it. Takes well under a
    /// millisecond, so it may be called from asynchronous code.
    ///
    /// # Errors
    /// [`RetrieveError::Index`] when the index cannot be read.
    pub fn search(&self, question: &str, top_k: usize) -> Result<Vec<Source>, RetrieveError> {
        Ok(search::search(&self.0.index, &Question::read(question), top_k)?)
    }
}

impl Retriever for Corpus {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn retrieve(&self, question: &str, top_k: usize) -> BoxFuture<'_, Result<Vec<Source>, RetrieveError>> {
        let question = question.to_owned();
        async move {
            self.refresh_if_due().await;
            self.search(&question, top_k)
        }
        .boxed()
    }
}

impl std::fmt::Debug for Corpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Corpus").field("name", &self.0.name).field("root", &self.0.root).finish_non_exhaustive()
    }
}

impl From<tantivy::TantivyError> for RetrieveError {
    fn from(why: tantivy::TantivyError) -> Self {
        Self::Index { why: why.to_string() }
    }
}

/// The folder of the index for the documents in `root`: two folders of the same name must not share one.
fn home_name(root: &Path) -> String {
    let name = root.file_name().map(|name| name.to_string_lossy().replace(|c: char| !c.is_alphanumeric(), "-"));
    let hash: String =
        Sha256::digest(root.as_os_str().as_encoded_bytes()).iter().take(6).map(|b| format!("{b:02x}")).collect();
    format!("{}-{hash}", name.unwrap_or_default())
}

fn unreadable(path: &Path, why: std::io::Error) -> RetrieveError {
    RetrieveError::Read { path: path.display().to_string(), why }
}

/// Locks, also after a panic elsewhere: no state here is left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
