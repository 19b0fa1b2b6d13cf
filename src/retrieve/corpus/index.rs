//! The tantivy index: which passages of which files it holds, in memory or in a folder of its own.
//!
//! It stores the words that [`words::content`] returns, so what it can find is exactly what the rest of the room reads.
//! The manifest of indexed files is the payload of the commit: files and passages can never disagree, whatever crashes.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::schema::{Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{DocAddress, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, TantivyError, Term};

use super::super::passage::Passage;
use super::manifest::Manifest;
use crate::cite::source::Source;
use crate::words;

/// Counts the ways in which an index was ever written. Raised when the schema, the cutting or the words change, so that an
/// older index is built anew.
const VERSION: u32 = 1;

/// Memory in bytes for one indexing thread, just above the least that tantivy accepts. More makes fewer, larger segments
/// on a first run over hundreds of megabytes.
const WRITER_MEMORY: usize = 32 << 20;

/// The manifest as it is stored.
#[derive(Serialize, Deserialize)]
struct Payload {
    version: u32,
    files: Manifest,
}

/// A searchable index.
pub(super) struct Index {
    index: tantivy::Index,
    reader: IndexReader,
    pub(super) fields: Fields,
}

/// The fields of a passage in the index.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    file: Field,
    id: Field,
    title: Field,
    text: Field,
    /// Content words of the title.
    pub(super) title_words: Field,
    /// Content words of title and text together.
    pub(super) words: Field,
}

impl Index {
    /// An empty index in memory.
    pub(super) fn in_ram() -> tantivy::Result<Self> {
        let (schema, _) = schema();
        Self::new(tantivy::Index::create_in_ram(schema))
    }

    /// An empty index in a folder, which is created.
    pub(super) fn create(folder: &Path) -> tantivy::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let (schema, _) = schema();
        Self::new(tantivy::Index::create_in_dir(folder, schema)?)
    }

    /// The index that a folder holds, once every file of it has the right checksum and version.
    pub(super) fn open(folder: &Path) -> tantivy::Result<Self> {
        let index = tantivy::Index::open(MmapDirectory::open(folder)?)?;
        if index.schema() != schema().0 {
            return Err(TantivyError::SchemaError("written by another version".to_owned()));
        }
        if !index.validate_checksum()?.is_empty() {
            return Err(TantivyError::InternalError("a checksum is wrong".to_owned()));
        }
        let index = Self::new(index)?;
        index.manifest()?;
        Ok(index)
    }

    fn new(index: tantivy::Index) -> tantivy::Result<Self> {
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let (_, fields) = schema();
        Ok(Self { index, reader, fields })
    }

    /// The files of the last commit, by whichever process.
    pub(super) fn manifest(&self) -> tantivy::Result<Manifest> {
        let Some(payload) = self.index.load_metas()?.payload else { return Ok(Manifest::default()) };
        match serde_json::from_str(&payload) {
            Ok(Payload { version: VERSION, files }) => Ok(files),
            _ => Err(TantivyError::SchemaError("written by another version".to_owned())),
        }
    }

    /// Begins a change. Fails when another process is changing the index at this moment.
    pub(super) fn update(&self) -> tantivy::Result<Update> {
        let writer = self.index.writer_with_num_threads(1, WRITER_MEMORY)?;
        Ok(Update { writer, fields: self.fields })
    }

    /// Makes the last commit searchable.
    pub(super) fn reload(&self) -> tantivy::Result<()> {
        self.reader.reload()
    }

    /// A view of the index that later commits do not change.
    pub(super) fn searcher(&self) -> Searcher {
        self.reader.searcher()
    }

    /// A passage as a source of an answer.
    pub(super) fn source(&self, searcher: &Searcher, at: DocAddress) -> tantivy::Result<Source> {
        let document: TantivyDocument = searcher.doc(at)?;
        let stored = |field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let Fields { id, title, text, .. } = self.fields;
        Ok(Source { id: stored(id), title: Some(stored(title)), url: None, text: stored(text), ocr: false })
    }
}

/// A change of the index that nobody sees before [`Update::commit`].
pub(super) struct Update {
    writer: IndexWriter,
    fields: Fields,
}

impl Update {
    /// Takes the passages of a file out.
    pub(super) fn remove(&self, file: &str) {
        self.writer.delete_term(Term::from_field_text(self.fields.file, file));
    }

    /// Adds the passages of a file.
    pub(super) fn add(&self, file: &str, passages: &[Passage]) -> tantivy::Result<()> {
        for passage in passages {
            let title = words::content(&passage.title);
            let text = words::content(&passage.text);
            let mut document = TantivyDocument::new();
            document.add_text(self.fields.file, file);
            document.add_text(self.fields.id, &passage.id);
            document.add_text(self.fields.title, &passage.title);
            document.add_text(self.fields.text, &passage.text);
            let heading = words::content(passage.title.rsplit(" › ").next().unwrap_or_default());
            document.add_pre_tokenized_text(self.fields.title_words, tokens(heading.iter()));
            document.add_pre_tokenized_text(self.fields.words, tokens(title.iter().chain(&text)));
            self.writer.add_document(document)?;
        }
        Ok(())
    }

    /// Makes the change durable, together with the files that the index now holds, and waits for merges.
    pub(super) fn commit(mut self, files: &Manifest) -> tantivy::Result<()> {
        let payload = serde_json::to_string(&Payload { version: VERSION, files: files.clone() })
            .map_err(|why| TantivyError::InternalError(why.to_string()))?;
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(&payload);
        commit.commit()?;
        self.writer.wait_merging_threads()
    }
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let counted = TextFieldIndexing::default().set_index_option(IndexRecordOption::WithFreqs);
    let counted = TextOptions::default().set_indexing_options(counted);
    let fields = Fields {
        file: schema.add_text_field("file", STRING),
        id: schema.add_text_field("id", STORED),
        title: schema.add_text_field("title", STORED),
        text: schema.add_text_field("text", STORED),
        title_words: schema.add_text_field("title_words", counted.clone()),
        words: schema.add_text_field("words", counted),
    };
    (schema.build(), fields)
}

fn tokens<'a>(words: impl Iterator<Item = &'a String>) -> PreTokenizedString {
    let token = |(position, word): (usize, &String)| Token { position, text: word.clone(), ..Token::default() };
    PreTokenizedString { text: String::new(), tokens: words.enumerate().map(token).collect() }
}
