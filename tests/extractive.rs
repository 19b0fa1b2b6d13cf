//! Asks the handbook and lets the extractive model answer: the first sentence holds the fact, its marker points at the
//! passage.

#![cfg(feature = "gateway")]

use citewire::cite::source::{Source, Sources};
use citewire::model::ModelRequest;
use citewire::model::extractive::compose;
use citewire::retrieve::corpus::Corpus;

const REFUSAL: &str = "I could not find that in the sources.";

/// Question, what the first sentence holds, the passage its marker points at.
const ANSWERED: &[(&str, &str, &str)] = &[
    ("How much is the monthly pass?", "25 dollars", "passes.md#monthly-pass"),
    ("What does the monthly pass cost?", "25 dollars", "passes.md#monthly-pass"),
    ("How much do I have to pay for a month?", "25 dollars", "passes.md#monthly-pass"),
    ("price of a day pass", "8 dollars", "passes.md#day-pass"),
    ("What is the price of the weekly pass?", "15 dollars", "passes.md#weekly-pass"),
    ("How expensive is the annual pass?", "190 dollars", "passes.md#annual-pass"),
    ("Is there a discount for students?", "14 dollars", "passes.md#reduced-pass"),
    ("How do I cancel my pass?", "To cancel a pass, open Passes in the app", "passes.md#cancelling-and-sharing"),
    ("Can I share my pass with my brother?", "cannot be shared", "passes.md#cancelling-and-sharing"),
    ("What does a single ride on an e-bike cost?", "5 dollars", "prices.md#single-rides"),
    ("What is the late fee for a bike?", "1 dollar for every 15 minutes", "prices.md#late-fees"),
    ("How much is the late fee for an e-bike?", "3 dollars for every 15 minutes", "prices.md#late-fees"),
    ("Can I pay in cash?", "only at the service desk", "prices.md#ways-to-pay"),
    ("how long can I ride", "30 minutes", "rides.md#how-long-a-ride-may-last"),
    ("How do I unlock a bike?", "scan the code", "rides.md#starting-a-ride"),
    ("Can I ride on the sidewalk?", "forbidden", "rides.md#where-riding-is-allowed"),
    ("What does it cost to leave the service area?", "20 dollars", "rides.md#where-riding-is-allowed"),
    ("do I need a helmet", "no helmet", "helmets.md#who-must-wear-one"),
    ("Is a helmet compulsory on an e-bike?", "compulsory at every age", "helmets.md#who-must-wear-one"),
    ("Where can I borrow a helmet?", "at the service desk", "helmets.md#borrowing-a-helmet"),
    ("How long does a refund take?", "ten working days", "refunds.md#how-to-ask-for-a-refund"),
    ("When is the service desk open on Sundays?", "from 10 am to 2 pm", "service-desk.md#opening-hours"),
    ("Are you open on Saturday?", "from 9 am to 4 pm", "service-desk.md#opening-hours"),
    ("Where is the service desk?", "12 Quay Street", "service-desk.md#where-to-find-it"),
    ("What is the phone number of the hotline?", "555 0142", "service-desk.md#hotline-and-email"),
    ("what happens if I have an accident", "call 911", "accidents.md#what-to-do-after-an-accident"),
    ("How much is the insurance excess?", "150 dollars", "accidents.md#insurance"),
    ("Is my data sold?", "never sold", "privacy.md#what-it-is-used-for"),
    ("How long do you keep my position data?", "14 days", "privacy.md#how-long-it-is-kept"),
    ("Who is the data protection officer?", "Ines Maro", "privacy.md#your-rights"),
    ("How fast is an e-bike?", "25 kilometres per hour", "e-bikes.md#speed-and-range"),
    ("How far does a full battery last?", "60 kilometres", "e-bikes.md#speed-and-range"),
    ("How old do you have to be to ride an e-bike?", "16 years", "e-bikes.md#who-may-ride-one"),
    ("how many e-bikes are there", "600", "e-bikes.md"),
    ("How many stations are there in Larkhaven?", "210 stations", "stations.md"),
    ("What if the station is full?", "10 extra minutes", "stations.md#when-a-station-is-full"),
    ("lost my phone on a bike", "under Lost property", "lost-property.md#if-you-lost-something"),
    ("How long are lost items kept?", "90 days", "lost-property.md#collecting-an-item"),
    ("How much do I pay for a stolen e-bike?", "2,200 dollars", "damage-and-theft.md#if-the-bike-is-stolen"),
    ("What does it cost if I damage the bike?", "100 dollars", "damage-and-theft.md#damage-that-you-caused"),
    ("What is the minimum age?", "14 years", "children.md#minimum-age"),
    ("Do teenagers get a cheaper pass?", "9 dollars", "children.md#accounts-for-teenagers"),
    ("Is the bike share closed when it snows?", "snow emergency", "winter.md#snow-and-ice"),
    ("How much is a guided tour?", "22 dollars", "groups.md#guided-tours"),
    ("When does the guided tour start?", "every Saturday at 11 am", "groups.md#guided-tours"),
    ("Is there a discount for companies?", "20 percent", "groups.md#companies"),
    ("I forgot my password", "no password", "account.md#logging-in"),
    (
        "Which languages does the app have?",
        "English, Spanish, French and Polish",
        "account.md#languages-and-accessibility",
    ),
];

fn request(question: &str, sources: Vec<Source>) -> ModelRequest {
    ModelRequest {
        model: None,
        messages: Vec::new(),
        question: question.to_owned(),
        sources: Sources::new(sources),
        refusal: REFUSAL.to_owned(),
        temperature: None,
        max_tokens: None,
    }
}

/// The first sentence of an answer and the number in its marker.
fn first_sentence(answer: &str) -> Option<(&str, u32)> {
    let (sentence, rest) = answer.split_once(" [")?;
    Some((sentence, rest.split_once(']')?.0.parse().ok()?))
}

#[test]
fn the_first_sentence_is_the_answer() {
    let corpus = Corpus::builtin().unwrap();
    let mut wrong = Vec::new();
    for (question, fact, passage) in ANSWERED {
        let request = request(question, corpus.search(question, 6).unwrap());
        let answer = compose(&request);
        let right = first_sentence(&answer).is_some_and(|(sentence, n)| {
            sentence.contains(fact) && request.sources.numbered(n).is_some_and(|source| source.id == *passage)
        });
        if !right {
            wrong.push(format!("{question}: expected {fact:?} of {passage}, got {answer:?}"));
        }
    }
    println!("{} of {} right", ANSWERED.len() - wrong.len(), ANSWERED.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every sentence stands in the source that its marker names, and nothing else is in the answer.
#[test]
fn every_sentence_is_verbatim() {
    let corpus = Corpus::builtin().unwrap();
    for (question, ..) in ANSWERED {
        let request = request(question, corpus.search(question, 6).unwrap());
        let mut rest = compose(&request);
        let mut sentences = 0;
        while let Some((sentence, n)) = first_sentence(&rest) {
            let source = request.sources.numbered(n).unwrap();
            assert!(source.text.contains(&format!("{sentence}.")), "{sentence:?} is not in {}", source.id);
            let cited = format!("{sentence} [{n}].");
            rest = rest.strip_prefix(&cited).unwrap().trim_start().to_owned();
            sentences += 1;
        }
        assert!(rest.is_empty() && (1..=5).contains(&sentences), "{question}: {rest:?}");
    }
}

#[test]
fn other_questions_are_refused_on_any_sources() {
    let corpus = Corpus::builtin().unwrap();
    let sources = corpus.search("How much is the monthly pass?", 6).unwrap();
    for question in [
        "",
        "???",
        "What is the capital of France?",
        "Who won the world cup in 2018?",
        "How do I bake bread?",
        "How do I rent a helicopter?",
        "Can I pay with bitcoin?",
        "Write me a poem about love",
        "How old is the universe?",
        "Is my data sold?",
    ] {
        assert_eq!(compose(&request(question, sources.clone())), REFUSAL, "{question:?}");
    }
}

#[test]
fn sources_of_any_kind_are_quoted() {
    let source = |id: &str, title: Option<&str>, text: &str| Source {
        id: id.to_owned(),
        title: title.map(str::to_owned),
        url: None,
        text: text.to_owned(),
        ocr: false,
    };
    let sources = vec![
        source(
            "a",
            None,
            "# Saturn V\n\nSaturn V stood 110.6 metres tall [4]. It flew 13 times from 1967 to 1973.\n\n| a | b |",
        ),
        source(
            "b",
            Some("Apollo 11"),
            "Neil Armstrong stepped onto the Moon\non 21 July 1969, see note [2]. \
            Armstrong was the first man on the Moon. Michael Collins stayed in orbit.",
        ),
        source("c", None, "- The mission lasted eight days\n- Fuel cells made the water"),
    ];
    let check = |question: &str, expected: &str| {
        assert_eq!(compose(&request(question, sources.clone())), expected, "{question:?}");
    };
    check(
        "Who was the first man on the Moon?",
        "Armstrong was the first man on the Moon [2]. Michael Collins stayed in orbit [2].",
    );
    check("How long did the mission last?", "The mission lasted eight days [3]. Fuel cells made the water [3].");
    check("Who stayed in orbit?", "Michael Collins stayed in orbit [2]. Armstrong was the first man on the Moon [2].");
    check("How many moons does Jupiter have?", REFUSAL);
    check("What is the capital of France?", REFUSAL);
}
