//! How a line begins: indentation, block quote signs, a list marker.

/// The beginning of a line: block quote signs, list markers, indentation.
pub(super) struct Head {
    /// Columns of white space behind the quote signs, before anything else.
    pub(super) indent: usize,
    pub(super) quotes: usize,
    /// A list marker stands here.
    pub(super) item: bool,
    /// Nothing but white space and quote signs.
    pub(super) blank: bool,
    /// Bytes before the content.
    pub(super) body: usize,
}

impl Head {
    pub(super) fn read(line: &str) -> Self {
        let bytes = line.as_bytes();
        let mut head = Self { indent: 0, quotes: 0, item: false, blank: false, body: 0 };
        loop {
            let (columns, at) = white_space(bytes, head.body);
            match bytes.get(at) {
                None => {
                    head.blank = !head.item;
                    head.body = at;
                    return head;
                }
                Some(b'>') if !head.item => {
                    head.quotes += 1;
                    head.indent = 0;
                    // One space behind the sign belongs to the sign.
                    head.body = at + 1 + usize::from(bytes.get(at + 1) == Some(&b' '));
                }
                Some(_) => {
                    if !head.item {
                        head.indent = columns;
                    }
                    head.body = at;
                    match list_marker(bytes, at) {
                        Some(len) => {
                            head.item = true;
                            head.body = at + len;
                        }
                        None => return head,
                    }
                }
            }
        }
    }
}

/// Columns of white space at `at` (a tab reaches the next multiple of four), and where it ends.
fn white_space(bytes: &[u8], mut at: usize) -> (usize, usize) {
    let mut columns = 0;
    while let Some(b @ (b' ' | b'\t')) = bytes.get(at) {
        columns = if *b == b' ' { columns + 1 } else { (columns / 4 + 1) * 4 };
        at += 1;
    }
    (columns, at)
}

/// Length of a list marker at `at`: `- `, `* `, `+ `, `1. `, `1) `.
fn list_marker(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let digits = rest.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
    let len = match rest.get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..10).contains(&digits) => digits + 1,
        _ => return None,
    };
    matches!(rest.get(len), None | Some(b' ' | b'\t')).then_some(len)
}
