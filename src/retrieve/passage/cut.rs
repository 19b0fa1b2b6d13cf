//! Packs the paragraphs of a document into passages: one heading each, about [`TARGET`] long.

use std::collections::{HashMap, HashSet};

use super::{Block, Document, Passage, one_line};

/// Length in bytes at which a passage ends. Six of them fill a prompt with about 2,000 tokens; at half of it an answer
/// is often torn from its condition, at double a marker points at more than a reader wants to search.
const TARGET: usize = 1200;

/// A rest shorter than this, in bytes, stays with the passage before it: alone it would say too little to be found.
const SHORTEST_REST: usize = 200;

/// What stands between two paragraphs of a passage.
const JOINT: &str = "\n\n";

/// The passages of `document`, in order, with ids that are unique within it.
pub(super) fn cut(path: &str, document: Document) -> Vec<Passage> {
    let mut cutter = Cutter::new(path, &document);
    for block in document.blocks {
        match block {
            Block::Heading { level, text } => cutter.heading(level, text),
            Block::Paragraph(text) => cutter.section.push(text),
        }
    }
    cutter.end_section();
    cutter.passages
}

struct Cutter<'a> {
    path: &'a str,
    title: String,
    /// The first heading is the title, so it does not stand in the way to the passages below it.
    title_is_first_heading: bool,
    /// The headings that the next paragraph stands under, outermost first.
    above: Vec<(u8, String)>,
    section: Vec<String>,
    taken: HashSet<String>,
    /// The last number that was tried for an id.
    numbers: HashMap<String, usize>,
    passages: Vec<Passage>,
}

impl<'a> Cutter<'a> {
    fn new(path: &'a str, document: &Document) -> Self {
        let first = match document.blocks.first() {
            Some(Block::Heading { level: 1, text }) => Some(text.clone()),
            _ => None,
        };
        let given = document.title.as_deref().map(one_line).filter(|title| !title.is_empty());
        Self {
            path,
            title_is_first_heading: first.is_some(),
            title: first.or(given).unwrap_or_else(|| title_from(path)),
            above: Vec::new(),
            section: Vec::new(),
            taken: HashSet::new(),
            numbers: HashMap::new(),
            passages: Vec::new(),
        }
    }

    fn heading(&mut self, level: u8, text: String) {
        if std::mem::take(&mut self.title_is_first_heading) {
            return;
        }
        self.end_section();
        self.above.retain(|(other, _)| *other < level);
        self.above.push((level, text));
    }

    fn end_section(&mut self) {
        for text in pack(&std::mem::take(&mut self.section)) {
            let id = self.unique_id();
            let headings = self.above.iter().map(|(_, text)| text.as_str());
            let title = std::iter::once(self.title.as_str()).chain(headings).collect::<Vec<_>>().join(" › ");
            self.passages.push(Passage { id, title, text });
        }
    }

    /// The path and the last heading; `-2` and so on when that is taken.
    fn unique_id(&mut self) -> String {
        let base = match self.above.last().map(|(_, heading)| slug(heading)) {
            Some(slug) if !slug.is_empty() => format!("{}#{slug}", self.path),
            _ => self.path.to_owned(),
        };
        let divider = if base.len() > self.path.len() { '-' } else { '#' };
        let mut id = base.clone();
        while self.taken.contains(&id) {
            let number = self.numbers.entry(base.clone()).or_insert(1);
            *number += 1;
            id = format!("{base}{divider}{number}");
        }
        self.taken.insert(id.clone());
        id
    }
}

/// Paragraphs joined up to [`TARGET`], the huge ones cut.
fn pack(paragraphs: &[String]) -> Vec<String> {
    let mut packed: Vec<String> = Vec::new();
    for piece in paragraphs.iter().flat_map(|paragraph| pieces(paragraph)) {
        let room = if piece.len() < SHORTEST_REST { TARGET + SHORTEST_REST } else { TARGET };
        match packed.last_mut() {
            Some(last) if last.len() + JOINT.len() + piece.len() <= room => {
                last.push_str(JOINT);
                last.push_str(piece);
            }
            _ => packed.push(piece.to_owned()),
        }
    }
    packed
}

/// `paragraph` cut into pieces of at most [`TARGET`] bytes: at a line break or the end of a sentence, else at white
/// space, else between two characters.
fn pieces(paragraph: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = paragraph.trim_end();
    while rest.len() > TARGET {
        let (head, tail) = rest.split_at_checked(cut_point(rest)).unwrap_or((rest, ""));
        pieces.push(head.trim_end());
        rest = tail.trim_start_matches([' ', '\n']);
    }
    pieces.push(rest);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Where to cut a text that is longer than [`TARGET`]; never 0.
fn cut_point(text: &str) -> usize {
    let head = text.get(..text.floor_char_boundary(TARGET)).unwrap_or(text);
    let after = |pattern: &[&str]| pattern.iter().filter_map(|end| Some(head.rfind(end)? + end.len())).max();
    after(&["\n", ". ", "! ", "? ", "。", "！", "？"])
        .filter(|at| *at > TARGET / 2)
        .or_else(|| head.rfind(char::is_whitespace).filter(|at| *at > 0))
        .unwrap_or(head.len())
}

/// `opening-hours.md` becomes `Opening hours`.
fn title_from(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let words = one_line(&stem.replace(['-', '_'], " "));
    let mut chars = words.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or(words)
}

/// `Who must wear one?` becomes `who-must-wear-one`.
fn slug(heading: &str) -> String {
    let lower = heading.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::super::{Block, Document};
    use super::{JOINT, SHORTEST_REST, TARGET, cut, pack, pieces, slug, title_from};

    #[test]
    fn short_paragraphs_are_joined_and_long_sections_cut() {
        let paragraph = |letter: &str, length: usize| letter.repeat(length);
        let packed = pack(&[paragraph("a", 500), paragraph("b", 500), paragraph("c", 600), paragraph("d", 700)]);
        assert_eq!(packed.iter().map(String::len).collect::<Vec<_>>(), [1002, 600, 700]);
        let packed = pack(&[paragraph("a", TARGET), paragraph("b", SHORTEST_REST - JOINT.len() - 1)]);
        assert_eq!(packed.len(), 1);
        assert!(pack(&vec![paragraph("a", 10); 1000]).iter().all(|text| text.len() <= TARGET + SHORTEST_REST));
    }

    #[test]
    fn huge_paragraphs_are_cut_without_loss() {
        let sentences = "One fact is here. ".repeat(400);
        let words = "word ".repeat(2000);
        let unbroken = "é".repeat(5000);
        for huge in [sentences, words, unbroken] {
            let cut = pieces(&huge);
            assert!(cut.len() > 1 && cut.iter().all(|piece| piece.len() <= TARGET));
            let kept: String = cut.concat();
            assert_eq!(kept.replace(' ', ""), huge.replace(' ', ""));
        }
        assert!(pieces(&"One fact is here. ".repeat(400)).iter().all(|piece| piece.ends_with('.')));
    }

    #[test]
    fn the_longest_document_takes_no_time_per_name() {
        let blocks = vec![Block::Paragraph("x".repeat(TARGET)); 14_000];
        let passages = cut("a.txt", Document { title: None, blocks });
        assert_eq!(passages.last().map(|passage| passage.id.as_str()), Some("a.txt#14000"));
    }

    #[test]
    fn names() {
        assert_eq!(title_from("a/opening_hours.v2.md"), "Opening hours.v2");
        assert_eq!(title_from(".md"), "");
        assert_eq!(slug("Who must wear one? (Über 18)"), "who-must-wear-one-über-18");
        assert_eq!(slug("???"), "");
    }
}
