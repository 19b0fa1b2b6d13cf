//! A folder of documents: what is indexed, what is noticed, and what an index survives.

#![cfg(feature = "gateway")]
#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use citewire::retrieve::Retriever;
use citewire::retrieve::corpus::{Corpus, Size};
use tempfile::TempDir;

/// A folder of documents and one for indexes.
struct Folders {
    docs: TempDir,
    indexes: TempDir,
}

impl Folders {
    fn new() -> Self {
        let folders = Self { docs: TempDir::new().unwrap(), indexes: TempDir::new().unwrap() };
        folders.write("cats.md", "# Cats\n\n## Food\n\nCats eat fish.\n\n## Sleep\n\nCats sleep sixteen hours.\n");
        folders.write("sub/dogs.html", "<h1>Dogs</h1><p>Dogs chew bones &amp; shoes.</p>");
        folders
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.docs.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn open(&self) -> Corpus {
        Corpus::open(self.docs.path(), self.indexes.path()).unwrap()
    }

    /// The files of the only index.
    fn index_files(&self) -> Vec<PathBuf> {
        let home = fs::read_dir(self.indexes.path()).unwrap().next().unwrap().unwrap().path();
        let mut files: Vec<PathBuf> = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

fn ids(corpus: &Corpus, question: &str) -> Vec<String> {
    corpus.search(question, 6).unwrap().into_iter().map(|source| source.id).collect()
}

#[test]
fn passages_are_found() {
    let folders = Folders::new();
    let corpus = folders.open();
    assert_eq!(corpus.size(), Size { documents: 2, passages: 3 });
    assert_eq!(corpus.name(), folders.docs.path().file_name().unwrap().to_str().unwrap());
    let found = corpus.search("What do dogs chew?", 6).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].id.as_str(), found[0].title.as_deref()), ("sub/dogs.html", Some("Dogs")));
    assert_eq!((found[0].text.as_str(), found[0].url.as_deref()), ("Dogs chew bones & shoes.", None));
    assert_eq!(ids(&corpus, "Do cats sleep?"), ["cats.md#sleep"]);
    assert!(ids(&corpus, "What do horses eat?").is_empty());
    assert!(corpus.search("Do cats sleep?", 0).unwrap().is_empty());
}

#[test]
fn changes_are_noticed() {
    let folders = Folders::new();
    let corpus = folders.open();
    assert!(!corpus.refresh().unwrap());

    folders.write("birds.txt", "Birds sing at dawn.");
    folders.write("cats.md", "Cats purr.");
    fs::remove_file(folders.docs.path().join("sub/dogs.html")).unwrap();
    assert!(corpus.refresh().unwrap());
    assert_eq!(ids(&corpus, "birds sing"), ["birds.txt"]);
    assert_eq!(ids(&corpus, "cats purr"), ["cats.md"]);
    assert!(ids(&corpus, "fish").is_empty());
    assert!(ids(&corpus, "dogs chew").is_empty());
    assert_eq!(corpus.size(), Size { documents: 2, passages: 2 });
    assert!(!corpus.refresh().unwrap());

    fs::remove_file(folders.docs.path().join("birds.txt")).unwrap();
    fs::remove_file(folders.docs.path().join("cats.md")).unwrap();
    assert!(corpus.refresh().unwrap());
    assert!(ids(&corpus, "birds sing").is_empty());
    assert_eq!(corpus.size(), Size { documents: 0, passages: 0 });
}

#[test]
fn an_index_is_used_again() {
    let folders = Folders::new();
    drop(folders.open());
    let before = folders.index_files();
    folders.write("birds.txt", "Birds sing at dawn.");
    let first = folders.open();
    assert_eq!(ids(&first, "birds sing"), ["birds.txt"]);
    let kept = folders.index_files().iter().filter(|file| before.contains(file)).count();
    assert_eq!(kept, before.len(), "nothing was written again");

    let second = folders.open();
    folders.write("bees.txt", "Bees hum.");
    assert!(second.refresh().unwrap());
    assert!(first.refresh().unwrap(), "sees what the other has indexed");
    assert_eq!(ids(&first, "bees hum"), ["bees.txt"]);
}

#[test]
fn touched_files_are_not_cut_again() {
    let folders = Folders::new();
    drop(folders.open());
    let before = folders.index_files();
    folders.write("cats.md", &fs::read_to_string(folders.docs.path().join("cats.md")).unwrap());
    assert_eq!(folders.open().size(), Size { documents: 2, passages: 3 });
    assert_eq!(folders.index_files(), before);
}

/// Opens the corpus after `harm` was done to the index, and searches it.
#[track_caller]
fn survives(folders: &Folders, harm: &str) {
    let corpus = folders.open();
    assert_eq!(ids(&corpus, "What do dogs chew?"), ["sub/dogs.html"], "{harm}");
    assert_eq!(corpus.size(), Size { documents: 2, passages: 3 }, "{harm}");
}

#[test]
fn a_damaged_index_is_built_anew() {
    let names = |files: Vec<PathBuf>| files.into_iter().filter(|file| !file.ends_with(".tantivy-writer.lock"));
    let count = {
        let folders = Folders::new();
        drop(folders.open());
        names(folders.index_files()).count()
    };
    type Harm = (&'static str, fn(&Path));
    let harms: &[Harm] = &[
        ("removed", |file| fs::remove_file(file).unwrap()),
        ("cut short", |file| {
            let half = fs::metadata(file).unwrap().len() / 2;
            fs::File::options().write(true).open(file).unwrap().set_len(half).unwrap();
        }),
        ("one bit flipped", |file| {
            let mut bytes = fs::read(file).unwrap();
            bytes.get_mut(3).into_iter().for_each(|byte| *byte ^= 0x10);
            fs::write(file, bytes).unwrap();
        }),
    ];
    for n in 0..count {
        for (harm, apply) in harms {
            let folders = Folders::new();
            drop(folders.open());
            let file = names(folders.index_files()).nth(n).unwrap();
            apply(&file);
            survives(&folders, &format!("{} {harm}", file.display()));
        }
    }
}

#[test]
fn an_index_folder_that_cannot_be_used_is_replaced_by_memory() {
    let folders = Folders::new();
    drop(folders.open());
    let home = folders.index_files()[0].parent().unwrap().to_path_buf();
    fs::remove_dir_all(&home).unwrap();
    fs::write(&home, "a file").unwrap();
    survives(&folders, "a file where the folder should be");
    fs::remove_file(&home).unwrap();
    let file = folders.docs.path().join("cats.md");
    let corpus = Corpus::open(folders.docs.path(), &file).unwrap();
    assert_eq!(ids(&corpus, "dogs chew"), ["sub/dogs.html"]);
    folders.write("bees.txt", "Bees hum.");
    assert!(corpus.refresh().unwrap());
    assert_eq!(ids(&corpus, "bees hum"), ["bees.txt"]);
}

#[test]
fn a_locked_index_is_replaced_by_memory() {
    let folders = Folders::new();
    drop(folders.open());
    let home = folders.index_files()[0].parent().unwrap().to_path_buf();
    let index = tantivy::Index::open_in_dir(home).unwrap();
    let _writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    folders.write("bees.txt", "Bees hum.");
    let corpus = folders.open();
    assert_eq!(ids(&corpus, "bees hum"), ["bees.txt"]);
    folders.write("bees.txt", "Bees dance.");
    assert!(corpus.refresh().unwrap());
    assert_eq!(ids(&corpus, "bees dance"), ["bees.txt"]);
}

#[test]
fn a_missing_folder_is_an_error() {
    let folders = Folders::new();
    let missing = folders.docs.path().join("nowhere");
    let why = Corpus::open(&missing, folders.indexes.path()).unwrap_err();
    assert!(why.to_string().starts_with("cannot read "), "{why}");
    assert!(Corpus::open(&folders.docs.path().join("cats.md"), folders.indexes.path()).is_err());
}

#[tokio::test(start_paused = true)]
async fn questions_bring_the_index_up_to_date() {
    let folders = Folders::new();
    let corpus = folders.open();
    folders.write("bees.txt", "Bees hum.");
    assert_eq!(corpus.retrieve("bees hum", 3).await.unwrap(), []);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(corpus.retrieve("bees hum", 3).await.unwrap().len(), 1);
}
