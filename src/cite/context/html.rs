//! HTML that runs over lines: comments, `<pre>` and its kin, and what ends them.

use memchr::memmem;

/// What ends an HTML block.
#[derive(Clone, Copy)]
pub(super) enum BlockEnd {
    Comment,
    /// `</name>`, in any case.
    Tag(&'static str),
}

/// What ends the HTML block that begins here, if one begins and does not end on the same line.
pub(super) fn html_block(content: &str) -> Option<BlockEnd> {
    const TAGS: [&str; 4] = ["pre", "script", "style", "textarea"];
    let bytes = content.as_bytes().strip_prefix(b"<")?;
    let begins = |tag: &&&str| {
        let named = bytes.get(..tag.len()).is_some_and(|b| b.eq_ignore_ascii_case(tag.as_bytes()));
        named && matches!(bytes.get(tag.len()), None | Some(b' ' | b'\t' | b'>'))
    };
    let end = if bytes.starts_with(b"!--") { BlockEnd::Comment } else { BlockEnd::Tag(TAGS.iter().find(begins)?) };
    end.find(bytes).is_none().then_some(end)
}

impl BlockEnd {
    /// Where in `bytes` it ends.
    pub(super) fn find(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Comment => memmem::find(bytes, b"-->").map(|at| at + 3),
            Self::Tag(name) => closing_tag(bytes, name),
        }
    }
}

/// Where the first `</name>` ends, in any case and with white space before the `>`.
pub(super) fn closing_tag(bytes: &[u8], name: &str) -> Option<usize> {
    memmem::find_iter(bytes, b"</").find_map(|at| {
        let behind = at + 2 + name.len();
        bytes.get(at + 2..behind)?.eq_ignore_ascii_case(name.as_bytes()).then_some(())?;
        let end = behind + bytes.get(behind..)?.iter().take_while(|b| b.is_ascii_whitespace()).count();
        (bytes.get(end) == Some(&b'>')).then_some(end + 1)
    })
}
