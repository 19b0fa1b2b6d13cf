//! Reads Markdown into headings and paragraphs: emphasis, links and images become their text, comments and front matter
//! go, lists and tables keep a line for each item and row.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::build::{Builder, Cell};
use super::{Document, html};

/// Reads the text of a Markdown file.
pub(super) fn read(content: &str) -> Document {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reader = Reader { build: Builder::default(), cell: Cell::Data };
    for event in Parser::new_ext(content, options) {
        reader.event(event);
    }
    reader.build.finish()
}

struct Reader {
    build: Builder,
    /// What the cells of the open row are.
    cell: Cell,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.build.push(&text);
            }
            Event::Html(html) => self.build.push(&html),
            Event::InlineHtml(tag) if tag.starts_with("<br") => self.build.push("\n"),
            Event::SoftBreak => self.build.push(" "),
            Event::HardBreak => self.build.push("\n"),
            Event::FootnoteReference(_) | Event::InlineHtml(_) | Event::Rule | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::List(first) => self.build.open_list(*first),
            Tag::Item => self.build.open_item(),
            Tag::TableHead => {
                self.cell = Cell::Header;
                self.build.open_row();
            }
            Tag::TableRow => self.build.open_row(),
            Tag::CodeBlock(_)
            | Tag::Heading { .. }
            | Tag::HtmlBlock
            | Tag::MetadataBlock(_)
            | Tag::Paragraph
            | Tag::Table(_) => self.build.end_block(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.build.end_heading(level as u8),
            TagEnd::HtmlBlock => self.end_html(),
            TagEnd::MetadataBlock(_) => self.end_front_matter(),
            TagEnd::TableCell => self.build.end_cell(self.cell),
            TagEnd::TableHead => self.cell = Cell::Data,
            TagEnd::Table => self.build.close_table(),
            TagEnd::List(_) => self.build.close_list(),
            TagEnd::CodeBlock | TagEnd::Paragraph => self.build.end_block(),
            _ => {}
        }
    }

    fn end_html(&mut self) {
        let inner = html::read(&self.build.take());
        self.build.append(inner);
    }

    fn end_front_matter(&mut self) {
        let text = self.build.take();
        if let Some(title) = text.lines().find_map(|line| line.strip_prefix("title:")) {
            self.build.title(title.trim().trim_matches(['"', '\'']));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Block;
    use super::read;

    /// Blocks as lines: `#` marks of headings, then the text; blocks divided by `|`.
    #[track_caller]
    fn check(markdown: &str, expected: &str) {
        let blocks = read(markdown).blocks;
        let shown: Vec<String> = blocks
            .into_iter()
            .map(|block| match block {
                Block::Heading { level, text } => format!("{} {text}", "#".repeat(level.into())),
                Block::Paragraph(text) => text,
            })
            .collect();
        assert_eq!(shown.join("|"), expected, "{markdown:?}");
    }

    #[test]
    fn inline_markup_goes() {
        check(
            "A **bold** `code` [link](http://x.example) ![picture](y.png)\nnext ~~gone~~ line",
            "A bold code link picture next gone line",
        );
        check("A  \nB<br>C <b>bold</b> &amp; more[^1]\n\n[^1]: A note.", "A\nB\nC bold & more|A note.");
        check("See [3] and [x](y), \\*stars\\*", "See [3] and x, *stars*");
    }

    #[test]
    fn lists_keep_their_lines() {
        check("Do:\n\n1. one\n2. two\n   - deep\n\n   more\n3. three", "Do:|1. one\n2. two\n  - deep\nmore\n3. three");
        check("- [x] done\n- [ ] open", "- done\n- open");
        check("> quoted\n> text", "quoted text");
    }

    #[test]
    fn blocks() {
        check("---\ntitle: T\n---\n# H {#id}\ntext\n\n## Two *words*", "# H|text|## Two words");
        check("```rust\nlet a = 1;\n\nlet b = 2;\n```\nafter", "let a = 1;\n\nlet b = 2;|after");
        check("<div>\n<p>Hello <b>you</b></p>\n<!-- hidden -->\n</div>\n\nafter", "Hello you|after");
        check("| A | B |\n|---|---|\n| 1 | |\n| 2 | x |", "A: 1\nA: 2; B: x");
    }

    #[test]
    fn front_matter_gives_the_title() {
        assert_eq!(read("---\nauthor: me\ntitle: \"My page\"\n---\ntext").title.as_deref(), Some("My page"));
    }
}
