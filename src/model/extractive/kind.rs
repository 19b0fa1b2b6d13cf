//! Recognises what a question wants: a sum of money, a duration, a time, a number.

use crate::words;
use crate::words::question::{Question, Wants};

const AGES: &[&str] = &["age", "aged", "old", "older", "over", "under"];

/// First words of sentences that tell what to do.
const DEEDS: &[&str] = &[
    "add", "ask", "bring", "call", "check", "choose", "click", "enter", "file", "follow", "go", "hold", "leave",
    "lock", "open", "press", "push", "report", "scan", "select", "send", "set", "sign", "start", "to", "type", "use",
    "wait", "write",
];

/// Pairs of words that lead to a place.
const PLACES: &[[&str; 2]] = &[
    ["are", "at"],
    ["are", "in"],
    ["are", "on"],
    ["at", "a"],
    ["at", "the"],
    ["is", "at"],
    ["is", "in"],
    ["is", "near"],
    ["is", "on"],
    ["next", "to"],
];

const MONEY: &[&str] = &["cent", "cents", "dollar", "dollars", "euro", "euros", "free", "pound", "pounds"];

const NUMBERS: &[&str] = &[
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "fifteen",
    "twenty", "thirty", "forty", "fifty", "sixty", "hundred", "half",
];

const UNITS: &[&str] = &[
    "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months",
    "year", "years",
];

const TIMES: &[&str] = &[
    "monday",
    "mondays",
    "tuesday",
    "tuesdays",
    "wednesday",
    "wednesdays",
    "thursday",
    "thursdays",
    "friday",
    "fridays",
    "saturday",
    "saturdays",
    "sunday",
    "sundays",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "am",
    "pm",
    "noon",
    "midnight",
    "clock",
];

/// True when `sentence` holds something of the kind that `question` wants; never for [`Wants::Anything`].
pub(super) fn holds(question: &Question, sentence: &str) -> bool {
    let words = words::all(sentence);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    match question.wants {
        Wants::Age => has(AGES) && words.iter().any(|word| is_number(word)),
        Wants::Anything => false,
        Wants::Count => counts(question, &words),
        Wants::Duration => counted_units(&words),
        Wants::Money => has(MONEY),
        Wants::Place => words.windows(2).any(|two| PLACES.iter().any(|place| two == place)),
        Wants::Time => has(TIMES) || counted_units(&words),
        Wants::Way => words.first().is_some_and(|first| DEEDS.contains(&first.as_str())),
    }
}

/// True for "45 minutes", "two working days" and the like.
fn counted_units(words: &[String]) -> bool {
    words.windows(3).any(|three| matches!(three, [number, unit, _] | [number, _, unit] if is_number(number) && UNITS.contains(&unit.as_str())))
        || matches!(words, [.., number, unit] if is_number(number) && UNITS.contains(&unit.as_str()))
}

/// True for a number in front of something that the question is about: "210 stations".
fn counts(question: &Question, words: &[String]) -> bool {
    let asked = |word: &str| question.concepts.iter().any(|concept| concept.word == words::stem(word));
    words.windows(2).any(|two| matches!(two, [number, thing] if is_number(number) && asked(thing)))
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || NUMBERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::holds;
    use crate::words::question::Question;

    #[track_caller]
    fn check(question: &str, sentence: &str, expected: bool) {
        assert_eq!(holds(&Question::read(question), sentence), expected, "{question:?} {sentence:?}");
    }

    #[test]
    fn kinds() {
        check("How much is it?", "It costs $5.", true);
        check("What is the price?", "Helmets are free.", true);
        check("How much is it?", "It takes 5 days.", false);
        check("How long does it take?", "Rides last up to 45 minutes.", true);
        check("How long does it take?", "The answer comes within two working days.", true);
        check("How long does it take?", "It takes 5 days", true);
        check("How long does it take?", "It costs 5 dollars a day.", false);
        check("When does it open?", "On Sundays it opens at 10 am.", true);
        check("When does it open?", "It opens soon.", false);
        check("How many stations are there?", "There are 210 stations.", true);
        check("How many stations are there?", "Stations have 12 docks.", false);
        check("Where is it?", "The desk is at 12 Quay Street.", true);
        check("Where is it?", "The desk sells passes.", false);
        check("How do I start?", "To start, scan the code.", true);
        check("How do I start?", "The code starts it.", false);
        check("How old must I be?", "Riders must be over 14.", true);
        check("How old must I be?", "Riders must be careful.", false);
        check("Is it nice?", "There are 210 stations for 5 dollars.", false);
    }
}
