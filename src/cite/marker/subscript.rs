//! Tells an index from a citation: `arr2[0]` and `x = a[1] + b[2]` from `in 2023[6]` and `says OpenAI[1]`.

use super::super::span::Span;
use super::content::digit_value;

/// Operators that make a name beside them code. A minus is one only behind a subscript: prose writes ` - ` too.
const OPERATORS: [&str; 20] =
    ["=", "==", "!=", "<", ">", "<=", ">=", "+", "*", "/", "%", "+=", "-=", "*=", "/=", ":=", "&&", "||", "**", "//"];

/// True when the pair indexes a code-like name. Only a bare number in square brackets can; `previous` is where the last
/// subscript of this run of text ended. Looks at the line only, and at most at [`REACH`] bytes of it.
pub(super) fn is_one(text: &str, pair: Span, previous: Option<usize>) -> bool {
    let written = pair.of(text);
    let Some(inside) = written.strip_prefix('[').and_then(|w| w.strip_suffix(']')) else { return false };
    if !inside.trim().chars().all(|c| digit_value(c).is_some()) {
        return false;
    }
    if previous == Some(pair.start) {
        return true;
    }
    let line = line_before(text, pair.start);
    let name_len = line.bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let (before, name) = line.split_at_checked(line.len() - name_len).unwrap_or((line, ""));
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts_well || before.chars().next_back().is_some_and(char::is_alphanumeric) {
        return false;
    }
    let name_start = pair.start - name_len;
    is_code_name(name)
        || is_assigned(before)
        || operator_before(before, name_start, previous)
        || operator_after(text, pair.end)
}

/// Bytes before a bracket that are looked at. Names and operators are short; the bound keeps long lines linear.
const REACH: usize = 256;

fn line_before(text: &str, end: usize) -> &str {
    let mut start = end.saturating_sub(REACH);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let reach = text.get(start..end).unwrap_or_default();
    reach.rsplit(['\n', '\r']).next().unwrap_or_default()
}

/// `x_i`, `arr2`, `myList`; not `CO2`, `OpenAI`.
fn is_code_name(name: &str) -> bool {
    let inner = name.get(1..name.len().saturating_sub(1)).unwrap_or_default();
    let small = name.starts_with(|c: char| c.is_ascii_lowercase());
    inner.contains('_') || (small && name.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase()))
}

/// `name=` directly before.
fn is_assigned(before: &str) -> bool {
    before.strip_suffix('=').is_some_and(|b| b.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

fn operator_before(before: &str, name_start: usize, previous: Option<usize>) -> bool {
    let Some(spaced) = before.strip_suffix(' ') else { return false };
    let operator = spaced.rsplit(' ').next().unwrap_or_default();
    let Some(left) = spaced.strip_suffix(operator).and_then(|l| l.strip_suffix(' ')) else { return false };
    // Without a word before it, the sign is a list marker or a quote sign.
    let after_word = left.chars().any(char::is_alphanumeric);
    let behind_subscript = previous.is_some_and(|p| p + operator.len() + 2 == name_start);
    after_word && (OPERATORS.contains(&operator) || (operator == "-" && behind_subscript))
}

fn operator_after(text: &str, end: usize) -> bool {
    let rest = text.get(end..).unwrap_or_default();
    let Some(rest) = rest.strip_prefix(' ') else { return false };
    let operator_len = rest.bytes().take(3).take_while(|b| b"=!<>+-*/%:&|".contains(b)).count();
    rest.split_at_checked(operator_len).is_some_and(|(op, behind)| OPERATORS.contains(&op) && behind.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for (text, expected) in [
            ("arr2[0]", true),
            ("x_i[2]", true),
            ("myList[1]", true),
            ("CO2[1]", false),
            ("OpenAI[1]", false),
            ("in 2023[6]", false),
            ("the 1890s[2]", false),
            ("ConSim[2]", false),
            ("x = arr[0]", true),
            ("left[0] < right", true),
            ("key=value[1]", true),
            ("total - value[1]", false),
            ("* word[1]", false),
            ("  * word[1]", false),
            ("> > word[1]", false),
            ("__[3]", false),
            ("some _emphasis_[3]", false),
            ("naïve2[1]", false),
            ("arr2[1, 2]", false),
            ("arr2【1】", false),
            ("line one =\nword[1]", false),
        ] {
            let start = text.find(['[', '【']).unwrap_or(0);
            let end = text
                .rfind([']', '】'])
                .map_or(0, |i| i + text.get(i..).unwrap_or("").chars().next().map_or(0, char::len_utf8));
            assert_eq!(is_one(text, Span::new(start, end), None), expected, "{text:?}");
        }
        assert!(is_one("a[0][1]", Span::new(4, 7), Some(4)));
        assert!(is_one("a2[0] - b[1]", Span::new(9, 12), Some(5)));
    }
}
