//! Cuts a document into titled passages, at its headings and paragraphs.
//!
//! A reader per file kind turns the text into a flat list of headings and paragraphs; one cutter turns
//! that into passages. Neither can fail: whatever a file holds, something readable comes out.

mod build;
mod cut;
mod html;
mod markdown;

/// What a search finds: a piece of a document that can be read by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The file's path inside its folder and the heading, such as `passes.md#monthly-pass`; unique within the folder.
    pub id: String,
    /// The document's title and the headings above the text, such as `Passes › Monthly pass`.
    pub title: String,
    /// Plain text: paragraphs divided by a blank line, list items and table rows on a line each.
    pub text: String,
}

/// The kinds of files that can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `.html`, `.htm`
    Html,
    /// `.md`, `.markdown`
    Markdown,
    /// `.txt`, `.text`
    Text,
}

impl FileKind {
    /// The kind that a path's extension names, in any case.
    ///
    /// ```
    /// use citewire::retrieve::passage::FileKind;
    /// assert_eq!(FileKind::of("docs/Passes.MD"), Some(FileKind::Markdown));
    /// assert_eq!(FileKind::of("photo.png"), None);
    /// ```
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "htm" | "html" => Some(Self::Html),
            "markdown" | "md" => Some(Self::Markdown),
            "text" | "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

/// The passages of one file, in the order of the file. `path` is relative to the folder, with `/` between its parts.
///
/// ```
/// use citewire::retrieve::passage::{FileKind, passages};
/// let found = passages("passes.md", FileKind::Markdown, "# Passes\n\n## Day pass\n\nIt costs **8** dollars.");
/// assert_eq!(found[0].id, "passes.md#day-pass");
/// assert_eq!(found[0].title, "Passes › Day pass");
/// assert_eq!(found[0].text, "It costs 8 dollars.");
/// ```
#[must_use]
pub fn passages(path: &str, kind: FileKind, content: &str) -> Vec<Passage> {
    let content = content.trim_start_matches('\u{FEFF}');
    let document = match kind {
        FileKind::Html => html::read(content),
        FileKind::Markdown => markdown::read(content),
        FileKind::Text => plain(content),
    };
    cut::cut(path, document)
}

/// A document without its markup.
#[derive(Debug, Default)]
struct Document {
    /// The title that the file gives apart from its text: front matter or `<title>`.
    title: Option<String>,
    blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    /// Level 1 is the highest.
    Heading { level: u8, text: String },
    /// A paragraph, a whole list, a table or a code block, with its inner line breaks; never blank.
    Paragraph(String),
}

/// White space as single spaces, none at the ends.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a text file: blank lines divide paragraphs, nothing is a heading.
fn plain(content: &str) -> Document {
    let mut build = build::Builder::default();
    for line in content.lines() {
        if line.trim().is_empty() {
            build.end_block();
        } else {
            build.push(line.trim_end());
            build.push("\n");
        }
    }
    build.finish()
}

#[cfg(test)]
mod tests {
    use super::{FileKind, passages};

    /// Passages as `id | title | text` lines.
    #[track_caller]
    fn check(path: &str, content: &str, expected: &[&str]) {
        let kind = FileKind::of(path).unwrap();
        let found: Vec<String> =
            passages(path, kind, content).iter().map(|p| format!("{} | {} | {}", p.id, p.title, p.text)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn text_files_are_paragraphs() {
        check("opening_hours.txt", "", &[]);
        check(
            "opening_hours.txt",
            "\u{FEFF}One.\r\nTwo.\r\n\r\n\r\nThree.",
            &["opening_hours.txt | Opening hours | One.\nTwo.\n\nThree."],
        );
    }

    #[test]
    fn markdown_is_cut_at_headings() {
        check(
            "a/passes.md",
            "Intro.\n\n# Day *pass*\n\nA.\n\n## Price\n\nB.\n\n# Week\n\nC.\n\n# Empty\n",
            &[
                "a/passes.md | Passes | Intro.",
                "a/passes.md#day-pass | Passes › Day pass | A.",
                "a/passes.md#price | Passes › Day pass › Price | B.",
                "a/passes.md#week | Passes › Week | C.",
            ],
        );
    }

    #[test]
    fn the_first_heading_is_the_title() {
        check(
            "p.md",
            "# Our passes\n\nA.\n\n## Day\n\nB.\n\n## Day\n\nC.\n\n## Day 2\n\nD.",
            &[
                "p.md | Our passes | A.",
                "p.md#day | Our passes › Day | B.",
                "p.md#day-2 | Our passes › Day | C.",
                "p.md#day-2-2 | Our passes › Day 2 | D.",
            ],
        );
    }

    #[test]
    fn html_and_markdown_give_the_same() {
        let expected = &["p.EXT#day | Passes › Day | Pass: Day; Price: 8 dollars\n\n- one & two\n- three"];
        let expected = |extension: &str| expected.map(|line| line.replace("EXT", extension));
        let markdown =
            "# Passes\n## Day\n| Pass | Price |\n|---|---|\n| **Day** | 8 dollars |\n\n- one &amp; two\n- three\n";
        let html = "<title>Passes</title><nav>Home</nav><h2>Day</h2><table><tr><th>Pass<th>Price<tr><td>Day<td>8 dollars</table>\
            <ul><li>one &amp; two<li><p>three</p></ul><script>x</script>";
        check("p.md", markdown, &expected("md").each_ref().map(String::as_str));
        check("p.html", html, &expected("html").each_ref().map(String::as_str));
    }
}
