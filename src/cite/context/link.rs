//! Link targets behind a bracket pair, and lines that define one.

use super::super::span::Span;

/// The `(url "title")` behind a bracket pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// The whole, parentheses included.
    pub(crate) span: Span,
    /// The url alone, without `<>`.
    pub(crate) url: Span,
}

/// Parentheses that a url may nest; CommonMark asks for at least this many, and it keeps `](` × n linear.
const MAX_NESTING: usize = 32;

/// Reads a link target that begins at byte `at` of `text`. `None` when what stands there is no target, for instance a
/// remark with spaces in parentheses.
pub(crate) fn target(text: &str, at: usize) -> Option<Target> {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'(') {
        return None;
    }
    let begin = blanks(bytes, at + 1);
    let (url, end) = destination(bytes, begin)?;
    let mut next = blanks(bytes, end);
    if next > end
        && let Some(title_end) = title(bytes, next)
    {
        next = blanks(bytes, title_end);
    }
    (bytes.get(next) == Some(&b')')).then(|| Target { span: Span::new(at, next + 1), url })
}

/// The label's span (brackets included) when `line` is a definition: `[label]: target "title"`, or `[^label]: anything`.
/// The line comes without its indentation and break.
pub(crate) fn definition(line: &str) -> Option<Span> {
    let bytes = line.as_bytes();
    if bytes.first() != Some(&b'[') {
        return None;
    }
    let close = memchr::memchr3(b'[', b']', b'\\', bytes.get(1..)?)? + 1;
    if close == 1 || bytes.get(close) != Some(&b']') || bytes.get(close + 1) != Some(&b':') {
        return None;
    }
    let label = Span::new(0, close + 1);
    if bytes.get(1) == Some(&b'^') && close > 2 {
        return Some(label);
    }
    let begin = blanks(bytes, close + 2);
    let (url, end) = destination(bytes, begin)?;
    let mut next = blanks(bytes, end);
    if next > end
        && let Some(title_end) = title(bytes, next)
    {
        next = blanks(bytes, title_end);
    }
    let angled = url.start > begin;
    (next == bytes.len() && !url.is_empty() && (angled || looks_like_address(url.of(line)))).then_some(label)
}

fn looks_like_address(url: &str) -> bool {
    let scheme = || {
        let (scheme, rest) = url.split_once(':')?;
        let name = scheme.len() >= 2 && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
        Some(name && scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && !rest.is_empty())
    };
    ["/", "./", "#", "www."].iter().any(|p| url.starts_with(p)) || scheme().unwrap_or(false)
}

/// A url at `at`, in angle brackets or bare with balanced parentheses: its span, and where it ends.
fn destination(bytes: &[u8], at: usize) -> Option<(Span, usize)> {
    if bytes.get(at) == Some(&b'<') {
        let end = at + 1 + memchr::memchr3(b'>', b'<', b'\n', bytes.get(at + 1..)?)?;
        return (bytes.get(end) == Some(&b'>')).then(|| (Span::new(at + 1, end), end + 1));
    }
    let (mut depth, mut i) = (0, at);
    while let Some(&b) = bytes.get(i) {
        match b {
            b'\\' if bytes.get(i + 1).is_some_and(u8::is_ascii_punctuation) => i += 1,
            b'(' if depth == MAX_NESTING => return None,
            b'(' => depth += 1,
            b')' if depth == 0 => break,
            b')' => depth -= 1,
            0..=b' ' => break,
            _ => {}
        }
        i += 1;
    }
    (depth == 0).then(|| (Span::new(at, i), i))
}

/// Where the title at `at` ends: `"…"`, `'…'` or `(…)`.
fn title(bytes: &[u8], at: usize) -> Option<usize> {
    let close = match bytes.get(at)? {
        b'(' => b')',
        quote @ (b'"' | b'\'') => *quote,
        _ => return None,
    };
    let mut i = at + 1;
    loop {
        i += memchr::memchr3(close, b'\\', b'\n', bytes.get(i..)?)?;
        match bytes.get(i)? {
            b'\\' => i += 2,
            b'\n' => return None,
            _ => return Some(i + 1),
        }
    }
}

/// Behind spaces and tabs.
fn blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take_while(|b| matches!(b, b' ' | b'\t')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        for (text, url) in [
            ("(https://a.example)", Some("https://a.example")),
            ("(a(b)c)", Some("a(b)c")),
            ("(<a b>)", Some("a b")),
            ("(a \"b [2]\")", Some("a")),
            ("(a 'b')", Some("a")),
            ("()", Some("")),
            ("(by two dollars)", None),
            ("(a", None),
            ("( a )", Some("a")),
            (" (a)", None),
        ] {
            let got = target(text, 0).map(|t| t.url.of(text).to_owned());
            assert_eq!(got.as_deref(), url, "{text:?}");
        }
    }

    #[test]
    fn definitions() {
        for (line, label) in [
            ("[1]: https://a.example", Some("[1]")),
            ("[1]:https://a.example \"t\"", Some("[1]")),
            ("[1]: /a", Some("[1]")),
            ("[1]: <a b>", Some("[1]")),
            ("[1]: www.a.example", Some("[1]")),
            ("[^1]: anything at all", Some("[^1]")),
            ("[1]: the pass costs", None),
            ("[1]: pass", None),
            ("[1]: https://a.example and more", None),
            ("[1] : /a", None),
            ("[]: /a", None),
            ("[1]:", None),
        ] {
            assert_eq!(definition(line).map(|s| s.of(line)), label, "{line:?}");
        }
    }
}
