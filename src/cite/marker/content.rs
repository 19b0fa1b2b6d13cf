//! Reads what stands between a pair of brackets: numbers, lists, ranges, words for "source", locators, daggers, carets.
//!
//! One grammar answers two questions: is this text the inside of a marker, and could it become one if more text came?
//! The second is why a failure says whether it happened at the end of the text.

mod cursor;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::super::source::Sources;
use super::super::span::Span;
use super::{Item, Names};
use cursor::Cursor;

/// What a bracketed text is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Names a source in a way that cannot be read.
    LooksLike,
    /// The inside of a marker.
    Marker(Vec<Item>),
    /// Anything else.
    Prose,
}

/// Reads bracket contents for one answer.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) sources: &'a Sources,
    /// Words for "source".
    pub(super) words: &'a [String],
}

/// Why a text is not the inside of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fail {
    /// Not yet: the text ended where more could follow.
    Open,
    /// Whatever follows.
    Never,
}

const SEPARATORS: [char; 6] = [',', ';', '；', '，', '、', '،'];

/// Numbers in words, for `[Source twelve]`.
const NUMBER_WORDS: [&str; 48] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
    "first",
    "second",
    "third",
    "eins",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "uno",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "due",
    "tre",
    "quattro",
    "cinque",
    "一",
    "二",
    "三",
    "四",
    "五",
    "六",
    "七",
    "八",
    "九",
    "十",
];

impl Reader<'_> {
    /// Reads the text between two brackets.
    pub(super) fn read(&self, text: &str, inside: Span) -> Reading {
        let content = inside.of(text);
        if holds_foreign_bracket(content) {
            return Reading::Prose;
        }
        let mut cursor = Cursor::new(content, inside.start);
        match self.items(&mut cursor) {
            Ok(items) => Reading::Marker(items),
            Err(_) if self.looks_like(content.trim()) => Reading::LooksLike,
            Err(_) => Reading::Prose,
        }
    }

    /// True when `content`, all that stands behind an unclosed bracket, is the beginning of a marker's inside.
    pub(super) fn begins(&self, content: &str) -> bool {
        !matches!(self.items(&mut Cursor::new(content, 0)), Err(Fail::Never))
    }

    /// Reads the inside of `<|…|>`: a known id, or the id of a file that no source has.
    pub(super) fn file(&self, text: &str, inside: Span) -> Vec<Item> {
        let id = inside.of(text);
        match self.sources.number_of(id) {
            Some(n) => vec![Item { span: inside, names: Names::Number(n), locator: None }],
            None if id.len() > FILE.len() && id.starts_with(FILE) => {
                vec![Item { span: inside, names: Names::Unknown(id.to_owned()), locator: None }]
            }
            None => Vec::new(),
        }
    }

    /// Reads the inside of a private-use span: a family, then ids and locators, between U+E202.
    pub(super) fn private_use(&self, text: &str, inside: Span) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        let mut at = inside.start;
        for (i, part) in inside.of(text).split('\u{E202}').enumerate() {
            let span = Span::new(at, at + part.len());
            at = span.end + '\u{E202}'.len_utf8();
            if i == 0 || part.is_empty() {
                continue;
            }
            match items.last_mut() {
                Some(last) if is_line_locator(part) => {
                    last.locator = Some(span);
                    last.span.end = span.end;
                }
                None if is_line_locator(part) => {}
                _ => {
                    let names =
                        self.sources.number_of(part).map_or_else(|| Names::Unknown(part.to_owned()), Names::Number);
                    items.push(Item { span, names, locator: None });
                }
            }
        }
        items
    }

    fn items(&self, cursor: &mut Cursor<'_>) -> Result<Vec<Item>, Fail> {
        cursor.skip_space();
        if cursor.peek() == Some('^') {
            return self.caret(cursor);
        }
        let mut items: Vec<Item> = Vec::new();
        // A word for "source" stands before no number, the first or every one.
        let (mut words, mut first_number) = (0, None);
        loop {
            match items.last_mut() {
                Some(last) if cursor.at_locator()? => cursor.locator(last)?,
                _ => {
                    let start = cursor.at();
                    words += usize::from(cursor.word(self.words)?);
                    let item = self.item(cursor)?;
                    first_number.get_or_insert((words == 1, item.span.start));
                    items.push(Item { span: Span::new(start, item.span.end), ..item });
                }
            }
            cursor.skip_space();
            match cursor.next() {
                None => break,
                Some(c) if SEPARATORS.contains(&c) => cursor.skip_space(),
                Some(_) => return Err(Fail::Never),
            }
        }
        match (words, first_number) {
            (0, _) => Ok(items),
            (1, Some((true, number))) => {
                // The one word belongs to the whole marker, not to the first number.
                items.iter_mut().take(1).for_each(|first| first.span.start = number);
                Ok(items)
            }
            (n, _) if n == items.len() => Ok(items),
            _ => Err(Fail::Never),
        }
    }

    /// `^1` and `^1^`.
    fn caret(&self, cursor: &mut Cursor<'_>) -> Result<Vec<Item>, Fail> {
        cursor.next();
        let (n, span) = self.number(cursor)?;
        if cursor.peek() == Some('^') {
            cursor.next();
        }
        cursor.skip_space();
        match cursor.next() {
            None => Ok(vec![Item { span, names: Names::Number(n), locator: None }]),
            Some(_) => Err(Fail::Never),
        }
    }

    /// A number or range, with what may stand directly behind it.
    fn item(&self, cursor: &mut Cursor<'_>) -> Result<Item, Fail> {
        let (first, at) = self.number(cursor)?;
        let mut item = Item { span: at, names: Names::Number(first), locator: None };
        let before_space = cursor.clone();
        cursor.skip_space();
        match cursor.peek() {
            Some(c) if is_dash(c) => {
                cursor.next();
                cursor.skip_space();
                let (last, last_at) = self.number(cursor)?;
                item.names = Names::Range { ends: (first, last), at: (at, last_at) };
                item.span.end = last_at.end;
            }
            Some('†') => {
                let from = cursor.at();
                cursor.skip_rest();
                item.locator = Some(Span::new(from, cursor.at()));
                item.span.end = cursor.at();
            }
            Some(_) if cursor.at_locator()? => cursor.locator(&mut item)?,
            _ => *cursor = before_space,
        }
        Ok(item)
    }

    /// Digits of any script: at most four, four only when there are that many sources, none padded with zeros.
    fn number(&self, cursor: &mut Cursor<'_>) -> Result<(u32, Span), Fail> {
        let start = cursor.at();
        let (mut value, mut digits) = (0, 0);
        while let Some(digit) = cursor.peek().and_then(digit_value) {
            if digits == 4 || (digits > 0 && value == 0) {
                return Err(Fail::Never);
            }
            value = value * 10 + digit;
            digits += 1;
            cursor.next();
        }
        match digits {
            0 => Err(cursor.fail()),
            4 if self.sources.len() < 1000 => Err(Fail::Never),
            _ => Ok((value, Span::new(start, cursor.at()))),
        }
    }

    /// `N`, or a word for "source" with a number word, one letter, or something with a digit behind it.
    fn looks_like(&self, content: &str) -> bool {
        if content == "N" {
            return true;
        }
        let mut cursor = Cursor::new(content, 0);
        if !matches!(cursor.word(self.words), Ok(true)) {
            return false;
        }
        let rest = cursor.rest();
        let lower = rest.to_lowercase();
        NUMBER_WORDS.contains(&lower.as_str())
            || (rest.chars().count() == 1 && rest.chars().all(char::is_alphabetic))
            || rest.chars().any(|c| digit_value(c).is_some())
    }
}

/// True when an emitter that knows brackets only could see a foreign span begin or end inside: no marker holds that.
pub(super) fn holds_foreign_bracket(content: &str) -> bool {
    content.contains(['\u{E200}', '\u{E201}']) || content.contains("<|") || content.contains("|>")
}

/// What the id of a file begins with in `<|file-…|>`.
const FILE: &str = "file-";

/// True when `content`, all that stands behind an unclosed `<|`, is the beginning of a file marker.
pub(super) fn begins_file(content: &str) -> bool {
    !content.is_empty() && (content.starts_with(FILE) || FILE.starts_with(content))
}

/// `L8`, `L8-L13`.
fn is_line_locator(part: &str) -> bool {
    let line = |s: &str| s.strip_prefix('L').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    part.split_once('-').map_or_else(|| line(part), |(from, to)| line(from) && line(to))
}

fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FF0D}')
}

/// The value of a decimal digit (category Nd) of any script. Digits of one script follow each other from zero to nine, so
/// the value is the number of digits directly before it, modulo ten.
pub(super) fn digit_value(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    let is_digit = |c: char| c.general_category() == GeneralCategory::DecimalNumber;
    is_digit(c).then(|| {
        let below = (1..50).take_while(|k| char::from_u32(c as u32 - k).is_some_and(is_digit)).count();
        below as u32 % 10
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::marker::Grammar;

    fn read(content: &str, n: usize) -> String {
        let source = |i: usize| crate::cite::source::Source {
            id: i.to_string(),
            title: None,
            url: None,
            text: String::new(),
            ocr: false,
        };
        let sources = Sources::new((0..n).map(source).collect());
        let grammar = Grammar::default();
        let reader = Reader { sources: &sources, words: &grammar.words };
        match reader.read(content, Span::new(0, content.len())) {
            Reading::Marker(items) => items
                .iter()
                .map(|i| format!("{}={:?}", i.span.of(content), i.names.numbers()).replace(' ', ""))
                .collect::<Vec<_>>()
                .join(" "),
            Reading::LooksLike => "looks like".to_owned(),
            Reading::Prose => "prose".to_owned(),
        }
    }

    #[test]
    fn contents() {
        for (content, expected) in [
            ("1", "1=[1]"),
            (" 1 , 3 ", "1=[1] 3=[3]"),
            ("1\u{2003}；\u{a0}2", "1=[1] 2=[2]"),
            ("٣", "٣=[3]"),
            ("𝟗", "𝟗=[9]"),
            ("１２", "１２=[12]"),
            ("1-3", "1-3=[1,2,3]"),
            ("3-1", "3-1=[3,1]"),
            ("2-2", "2-2=[2,2]"),
            ("^1", "1=[1]"),
            ("^1^", "1=[1]"),
            ("1†source", "1†source=[1]"),
            ("Source 1, 3", "1=[1] 3=[3]"),
            ("Source 1, doc 3", "Source1=[1] doc3=[3]"),
            ("1, Source 3", "prose"),
            ("QUELLE: 2", "2=[2]"),
            ("1, p. 6–7", "1,p.6–7=[1]"),
            ("1, p. 6; 2, pp. 3-4", "1,p.6=[1] 2,pp.3-4=[2]"),
            ("2 §4", "2§4=[2]"),
            ("1, Table 2", "1,Table2=[1]"),
            ("1, pagesize 2", "prose"),
            ("1, page", "prose"),
            ("01", "prose"),
            ("0", "0=[0]"),
            ("1,000", "prose"),
            ("2024", "prose"),
            ("1, 2024", "prose"),
            ("source code", "prose"),
            ("Source twelve", "looks like"),
            ("Source B", "looks like"),
            ("Idea 3", "prose"),
            ("docs", "prose"),
            ("Reference 2024", "looks like"),
            ("N", "looks like"),
            ("", "prose"),
            ("1\u{fe0f}\u{20e3}", "prose"),
            ("1 <|x", "prose"),
        ] {
            assert_eq!(read(content, 3), expected, "{content:?}");
        }
        assert_eq!(read("1999", 1000), "1999=[1999]");
    }

    #[test]
    fn beginnings() {
        let grammar = Grammar::default();
        let sources = Sources::default();
        let reader = Reader { sources: &sources, words: &grammar.words };
        for yes in [
            "",
            " ",
            "1",
            "1,",
            "1, ",
            "^",
            "^1",
            "^1^",
            "Sou",
            "Source ",
            "Source: 1",
            "1†so",
            "1-",
            "1 ",
            "1, p",
            "1, p. 6",
        ] {
            assert!(reader.begins(yes), "{yes:?}");
        }
        for no in ["see", "5 reasons", "1.5", "-1", "01", "2024", "^x", "1,,", "source code"] {
            assert!(!reader.begins(no), "{no:?}");
        }
    }
}
