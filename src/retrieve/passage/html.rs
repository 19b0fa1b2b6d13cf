//! Reads HTML into headings and paragraphs: what a reader would see, without navigation, scripts and styles.

use ego_tree::iter::Edge;
use scraper::{Html, Node};

use super::Document;
use super::build::{Builder, Cell};

/// Elements whose content no reader looks for.
const DROPPED: &[&str] = &[
    "audio", "button", "canvas", "form", "head", "iframe", "nav", "noscript", "object", "script", "style", "svg",
    "template", "video",
];

/// Elements that stand on lines of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "header",
    "hr",
    "main",
    "p",
    "pre",
    "section",
    "summary",
    "table",
];

/// Open elements at the most. Pages written by people stay below 100; at ten times this, one hostile file takes seconds.
const DEEPEST: usize = 2_000;

/// Elements that are never open for long: they have no content, or the next one of their kind ends them.
const SHORT_LIVED: &[&str] = &[
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option", "p",
    "source", "td", "th", "tr", "track", "wbr",
];

/// Counts tags without parsing: true when more than `limit` elements seem to be open at once.
fn nests_deeper_than(content: &str, limit: usize) -> bool {
    let mut open: usize = 0;
    for tag in content.split('<').skip(1) {
        let closing = tag.starts_with('/');
        let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let closes_itself = tag.split('>').next().is_some_and(|t| t.ends_with('/'));
        if name.is_empty() || closes_itself || SHORT_LIVED.contains(&name.to_ascii_lowercase().as_str()) {
            continue;
        }
        open = if closing { open.saturating_sub(1) } else { open + 1 };
        if open > limit {
            return true;
        }
    }
    false
}

/// Reads the text of an HTML file or a piece of one. Goes through the tree without recursion, so no depth of nesting can
/// exhaust the stack.
///
/// A file nested deeper than [`DEEPEST`] is not read: the parser's work grows with the square of the depth.
pub(super) fn read(content: &str) -> Document {
    if nests_deeper_than(content, DEEPEST) {
        tracing::warn!(limit = DEEPEST, "an HTML file is nested too deep to be read");
        return Reader::default().build.finish();
    }
    let html = Html::parse_document(content);
    let mut reader = Reader::default();
    for edge in html.tree.root().traverse() {
        match edge {
            Edge::Open(node) => reader.open(node.value()),
            Edge::Close(node) => reader.close(node.value()),
        }
    }
    reader.build.finish()
}

#[derive(Default)]
struct Reader {
    build: Builder,
    /// How many dropped elements are open.
    dropped: usize,
    /// How many `pre` elements are open: white space counts in them.
    preformatted: usize,
    title_open: bool,
}

impl Reader {
    fn open(&mut self, node: &Node) {
        match node {
            Node::Element(element) => self.open_element(element.name()),
            Node::Text(text) if self.title_open => self.build.title(text),
            Node::Text(text) if self.dropped > 0 || text.is_empty() => {}
            Node::Text(text) if self.preformatted > 0 => self.build.push(text),
            Node::Text(text) => self.build.push_flowing(text),
            _ => {}
        }
    }

    fn close(&mut self, node: &Node) {
        if let Node::Element(element) = node {
            self.close_element(element.name());
        }
    }

    fn open_element(&mut self, name: &str) {
        self.title_open = name == "title";
        self.dropped += usize::from(DROPPED.contains(&name));
        if self.dropped > 0 {
            return;
        }
        match name {
            "br" => self.build.push("\n"),
            "li" => self.build.open_item(),
            "ol" => self.build.open_list(Some(1)),
            "tr" => self.build.open_row(),
            "ul" => self.build.open_list(None),
            _ if BLOCKS.contains(&name) || heading_level(name).is_some() => self.build.end_block(),
            _ => {}
        }
        self.preformatted += usize::from(name == "pre");
    }

    fn close_element(&mut self, name: &str) {
        self.title_open = false;
        if self.dropped > 0 {
            self.dropped -= usize::from(DROPPED.contains(&name));
            return;
        }
        match name {
            "ol" | "ul" => self.build.close_list(),
            "table" => self.build.close_table(),
            "td" => self.build.end_cell(Cell::Data),
            "th" => self.build.end_cell(Cell::Header),
            _ if BLOCKS.contains(&name) => self.build.end_block(),
            _ => heading_level(name).into_iter().for_each(|level| self.build.end_heading(level)),
        }
        self.preformatted -= usize::from(name == "pre");
    }
}

fn heading_level(name: &str) -> Option<u8> {
    match name {
        "h1" => Some(1),
        "h2" => Some(2),
        "h3" => Some(3),
        "h4" => Some(4),
        "h5" => Some(5),
        "h6" => Some(6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Block;
    use super::read;

    #[track_caller]
    fn check(html: &str, expected: &[&str]) {
        let shown: Vec<String> = read(html)
            .blocks
            .into_iter()
            .map(|block| match block {
                Block::Heading { level, text } => format!("{} {text}", "#".repeat(level.into())),
                Block::Paragraph(text) => text,
            })
            .collect();
        assert_eq!(shown, expected, "{html:?}");
    }

    #[test]
    fn what_a_reader_sees() {
        check(
            "<style>p{}</style><nav>Menu</nav><h1>A &amp; B</h1><p>One\n two <b>three</b>, <i>four</i>.<p>Five<br>six",
            &["# A & B", "One two three, four.", "Five\nsix"],
        );
        check("<div>loose text<div>inner</div>tail</div>", &["loose text", "inner", "tail"]);
        check("<pre>a\n  b</pre>c", &["a\n  b", "c"]);
        check("plain words", &["plain words"]);
        check("", &[]);
    }

    #[test]
    fn a_file_nested_without_end_is_left_out() {
        check(&"<div>".repeat(100_000), &[]);
        check(&"<b>".repeat(100_000), &[]);
        let flat = format!("{}<p>end", "<div></div><path d='0'/><br>".repeat(3_000));
        assert!(!read(&flat).blocks.is_empty(), "a long flat file is read");
    }

    #[test]
    fn lists_and_tables_keep_their_lines() {
        check(
            "<ol><li>one<li>two<ul><li>deep</ul><li><p>three</p><p>more</p></ol>",
            &["1. one\n2. two\n  - deep\n3. three\nmore"],
        );
        check("<table><tr><td>a<td>b<tr><td>c<td>d</table>after", &["a; b\nc; d", "after"]);
    }

    #[test]
    fn hostile_nesting_is_harmless() {
        assert_eq!(read(&"<div>".repeat(5_000)).blocks.len(), 0);
        assert_eq!(read(&format!("{}x", "<b><ul><li>".repeat(500))).blocks.len(), 1);
    }
}
