//! Texts and cuts for the property tests.

use citewire::cite::source::Sources;
use proptest::prelude::*;

use super::numbered;

/// Text made of what matters to the grammar, in any order.
pub(crate) fn text() -> impl Strategy<Value = String> {
    const TOKENS: [&str; 52] = [
        "[",
        "[",
        "[",
        "]",
        "]",
        "]",
        "【",
        "】",
        "［",
        "］",
        "<|",
        "|>",
        "<",
        "|",
        ">",
        "\u{E200}",
        "\u{E201}",
        "\u{E202}",
        "file-",
        "file-ab",
        "cite",
        "1",
        "2",
        "3",
        "9",
        ",",
        " ",
        " ",
        "-",
        "–",
        "^",
        "†",
        "\\",
        "`",
        "``",
        "$",
        "\n",
        "\n\n",
        "\r",
        "(",
        ")",
        "(https://a.example/1)",
        "a",
        "word ",
        "Source ",
        "é",
        "🐸",
        "井",
        "!",
        ": ",
        "    ",
        "```\n",
    ];
    let token = prop::sample::select(TOKENS.to_vec()).prop_map(str::to_owned);
    let pad = (1usize..200).prop_map(|n| "x".repeat(n));
    let piece = prop_oneof![60 => token, 1 => pad];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// The text cut after the characters whose numbers are given.
pub(crate) fn cut(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut at: Vec<usize> = cuts.iter().map(|c| c.index(chars.len() + 1)).collect();
    at.extend([0, chars.len()]);
    at.sort_unstable();
    at.windows(2).map(|w| chars[w[0]..w[1]].iter().collect()).collect()
}

pub(crate) fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop_oneof![
        prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        prop::collection::vec(any::<prop::sample::Index>(), 200),
    ]
}

/// Three sources: one with a url, one with the id of a file.
pub(crate) fn sources() -> Sources {
    let mut all: Vec<_> = (1..=3).map(numbered).collect();
    all[0].url = Some("https://a.example/1".to_owned());
    all[1].id = "file-ab".to_owned();
    Sources::new(all)
}
