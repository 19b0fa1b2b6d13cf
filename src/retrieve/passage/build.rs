//! Builds a [`Document`] out of text and structure as a reader meets them.

use super::{Block, Document, one_line};

/// A document that is being read. Text goes into the open block; structure opens and closes blocks.
#[derive(Default)]
pub(super) struct Builder {
    document: Document,
    /// The text of the open block. A list, with the lists inside it, is one block.
    text: String,
    /// The next number of each open list, outermost first; `None` for bullets.
    lists: Vec<Option<u64>>,
    table: Table,
}

/// What a table cell holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    Data,
    /// The name of a column.
    Header,
}

#[derive(Default)]
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Builder {
    /// Adds text as it is.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds text with white space as a browser shows it.
    pub(super) fn push_flowing(&mut self, text: &str) {
        let at_start = self.text.is_empty() || self.text.ends_with(char::is_whitespace);
        if text.starts_with(char::is_whitespace) && !at_start {
            self.text.push(' ');
        }
        let words = one_line(text);
        self.text.push_str(&words);
        if text.ends_with(char::is_whitespace) && !words.is_empty() {
            self.text.push(' ');
        }
    }

    /// Takes the text of the open block out.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Ends a paragraph or code block; in a list or table only its line.
    pub(super) fn end_block(&mut self) {
        if !self.lists.is_empty() || !self.table.rows.is_empty() {
            self.end_line();
        } else {
            let text = self.take();
            let text = text.trim_matches('\n').trim_end();
            if !text.trim().is_empty() {
                self.document.blocks.push(Block::Paragraph(text.to_owned()));
            }
        }
    }

    /// Makes the open block a heading; level 1 is the highest.
    pub(super) fn end_heading(&mut self, level: u8) {
        let text = one_line(&self.take());
        if !text.is_empty() {
            self.document.blocks.push(Block::Heading { level, text });
        }
    }

    /// Opens a list; `first` is its first number, `None` for bullets.
    pub(super) fn open_list(&mut self, first: Option<u64>) {
        self.end_block();
        self.lists.push(first);
    }

    /// Opens an item of the innermost list.
    pub(super) fn open_item(&mut self) {
        self.end_line();
        for _ in 1..self.lists.len() {
            self.text.push_str("  ");
        }
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.text.push_str(&format!("{number}. "));
                *number += 1;
            }
            _ => self.text.push_str("- "),
        }
    }

    /// Closes the innermost list.
    pub(super) fn close_list(&mut self) {
        self.lists.pop();
        self.end_block();
    }

    /// Opens a table row.
    pub(super) fn open_row(&mut self) {
        self.text.clear();
        self.table.rows.push(Vec::new());
    }

    /// Makes the open block a cell. Only the first row can name the columns.
    pub(super) fn end_cell(&mut self, cell: Cell) {
        let text = one_line(&self.take());
        if cell == Cell::Header && self.table.rows.len() == 1 {
            self.table.header.push(text);
        } else if let Some(row) = self.table.rows.last_mut() {
            row.push(text);
        }
    }

    /// Closes a table: a line for each row, every cell named by its column, so that a row can be understood alone:
    /// `Pass: Monthly; Price: 25 dollars`.
    pub(super) fn close_table(&mut self) {
        let Table { header, rows } = std::mem::take(&mut self.table);
        let lines = rows.iter().map(|cells| row_line(&header, cells)).filter(|line| !line.is_empty());
        self.text = lines.collect::<Vec<_>>().join("\n");
        self.end_block();
    }

    /// Takes over the blocks of a document inside this one.
    pub(super) fn append(&mut self, inner: Document) {
        self.document.blocks.extend(inner.blocks);
    }

    /// Names the document. The first name stays.
    pub(super) fn title(&mut self, title: &str) {
        self.document.title.get_or_insert_with(|| title.to_owned());
    }

    /// The whole document.
    pub(super) fn finish(mut self) -> Document {
        self.lists.clear();
        self.end_block();
        self.document
    }

    /// Begins a new line unless one has just begun or holds only the mark of its item.
    fn end_line(&mut self) {
        let line = self.text.rsplit('\n').next().unwrap_or_default().trim();
        let only_a_mark = line == "-" || line.strip_suffix('.').is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()));
        if !line.is_empty() && !only_a_mark {
            self.text.truncate(self.text.trim_end().len());
            self.text.push('\n');
        }
    }
}

fn row_line(header: &[String], cells: &[String]) -> String {
    let filled = cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
    let named = filled.map(|(column, cell)| match header.get(column) {
        Some(name) if !name.is_empty() => format!("{name}: {cell}"),
        _ => cell.clone(),
    });
    named.collect::<Vec<_>>().join("; ")
}
