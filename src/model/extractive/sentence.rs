//! Cuts a source's text into sentences that can be put into an answer as they are.

/// Characters that may follow the end of a sentence and still belong to it.
pub(super) const CLOSERS: [char; 6] = ['"', '\'', ')', '”', '’', '»'];

/// Longest sentence in bytes; a longer one is a paragraph without stops, and nobody finds the fact in it.
const LONGEST: usize = 500;

/// Fewest words of a sentence that says something.
const FEWEST_WORDS: usize = 3;

/// Abbreviations before whose stop no sentence ends.
const ABBREVIATIONS: &[&str] = &[
    "approx", "ca", "cf", "co", "dr", "e.g", "etc", "fig", "i.e", "inc", "ltd", "max", "min", "mr", "mrs", "ms", "no",
    "nr", "p", "pp", "prof", "sec", "st", "vs",
];

/// The sentences of `text` in order, white space as single spaces. Left out is what would not read as a sentence or could
/// be taken for markup of the answer: headings, questions, lead-ins, tables, code, and everything with brackets.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let found = units(text).into_iter().flat_map(|unit| split(&unit));
    found.filter(|sentence| is_quotable(sentence)).collect()
}

/// Paragraphs and list items, each on one line and without its mark.
fn units(text: &str) -> Vec<String> {
    let mut units = vec![String::new()];
    let mut in_code = false;
    for line in text.lines() {
        let line = line.trim().trim_start_matches('>').trim_start();
        let fence = line.starts_with("```") || line.starts_with("~~~");
        in_code ^= fence;
        if in_code || fence || line.is_empty() || line.starts_with('#') || line.contains('|') {
            units.push(String::new());
            continue;
        }
        let content = without_list_mark(line);
        if content.is_some() {
            units.push(String::new());
        }
        if let Some(unit) = units.last_mut() {
            if !unit.is_empty() {
                unit.push(' ');
            }
            unit.push_str(content.unwrap_or(line));
        }
    }
    units.retain(|unit| !unit.is_empty());
    units
}

/// What follows `- `, `* `, `• ` or `12. ` at the start of a line.
fn without_list_mark(line: &str) -> Option<&str> {
    let (mark, content) = line.split_once(' ')?;
    let number = mark.strip_suffix(['.', ')']).is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
    (number || ["-", "*", "+", "•"].contains(&mark)).then(|| content.trim_start())
}

/// Cuts a line behind `.`, `!` or `?` where white space and no lower-case letter follows, and behind their full-width forms.
fn split(unit: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut sentence = String::new();
    for word in unit.split_whitespace().flat_map(|word| word.split_inclusive(['。', '！', '？'])) {
        let joined = sentence.ends_with(['。', '！', '？']);
        let ended = ends_sentence(&sentence) && !word.starts_with(char::is_lowercase);
        if ended || joined {
            sentences.push(std::mem::take(&mut sentence));
        } else if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(word);
    }
    sentences.push(sentence);
    sentences
}

fn ends_sentence(text: &str) -> bool {
    let open = text.trim_end_matches(CLOSERS);
    let Some(body) = open.strip_suffix('.') else { return open.ends_with(['!', '?', '…']) };
    let last = body.rsplit(' ').next().unwrap_or(body).trim_start_matches(['(', '"', '“']);
    let initial = last.chars().count() == 1 && last.chars().all(char::is_uppercase);
    !initial && !ABBREVIATIONS.contains(&last.to_lowercase().as_str())
}

fn is_quotable(sentence: &str) -> bool {
    let marks = sentence.contains(['[', ']', '【', '】', '［', '］', '<', '>', '\\']) || sentence.contains(is_private);
    let open_code = sentence.matches('`').count() % 2 == 1;
    let no_statement = sentence.trim_end_matches(CLOSERS).ends_with(['?', '？', ':', '：', ',', ';']);
    let letters = sentence.chars().filter(|c| c.is_alphabetic()).count();
    let long_enough = sentence.split(' ').count() >= FEWEST_WORDS || !sentence.is_ascii() && letters >= FEWEST_WORDS;
    long_enough && letters > 0 && sentence.len() <= LONGEST && !marks && !open_code && !no_statement
}

/// Private-use characters, of which some models make citation marks.
fn is_private(c: char) -> bool {
    matches!(c, '\u{E000}'..='\u{F8FF}')
}

#[cfg(test)]
mod tests {
    use super::sentences;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(sentences(text), expected, "{text:?}");
    }

    #[test]
    fn sentences_end_where_they_should() {
        check("One is here. Two is here! And 3.5 is three.", &["One is here.", "Two is here!", "And 3.5 is three."]);
        check(
            "Ask Dr. J. Miller, e.g. by mail. He said \"do it.\" Then he left.",
            &["Ask Dr. J. Miller, e.g. by mail.", "He said \"do it.\"", "Then he left."],
        );
        check("Open from 8 a.m. to noon. Closed at night.", &["Open from 8 a.m. to noon.", "Closed at night."]);
        check("一つ目です。二つ目です。", &["一つ目です。", "二つ目です。"]);
        check("A hard\nwrapped sentence.\n\nAnother  one here", &["A hard wrapped sentence.", "Another one here"]);
    }

    #[test]
    fn list_items_are_sentences() {
        check(
            "You need:\n- a valid pass\n- a working phone.\n1. Scan the code.",
            &["a valid pass", "a working phone.", "Scan the code."],
        );
    }

    #[test]
    fn what_is_no_sentence_is_left_out() {
        check("# A long heading here\nText is here.", &["Text is here."]);
        check("Is this a question? See the list:", &[]);
        check("See note [3] there. See 【2】 over there. A <b>bold one</b> here.", &[]);
        check("| a | b c d |\n|---|---|\ncell one | cell two", &[]);
        check("```\nlet code = here;\n```\nOdd ` tick is here. Even `tick` is fine.", &["Even `tick` is fine."]);
        check("Yes. Too short.", &[]);
        check("12 34 56", &[]);
    }

    #[test]
    fn hostile_text_takes_no_longer() {
        assert!(sentences(&"a. ".repeat(100_000)).is_empty());
        assert!(sentences(&"x".repeat(1 << 20)).is_empty());
        assert!(sentences(&"word ".repeat(100_000)).is_empty());
    }
}
