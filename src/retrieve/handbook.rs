//! The handbook of the Larkhaven bike share, an invented service: the documents of a gateway that was given none.

/// What the handbook is called, for people.
pub const NAME: &str = "bike-share handbook (built in)";

macro_rules! pages {
    ($($file:literal),+ $(,)?) => {
        &[$(($file, include_str!(concat!("handbook/", $file)))),+]
    };
}

/// File name and Markdown of every page, sorted by name.
pub const PAGES: &[(&str, &str)] = pages![
    "accidents.md",
    "account.md",
    "children.md",
    "damage-and-theft.md",
    "e-bikes.md",
    "groups.md",
    "helmets.md",
    "lost-property.md",
    "passes.md",
    "prices.md",
    "privacy.md",
    "refunds.md",
    "rides.md",
    "service-desk.md",
    "stations.md",
    "winter.md",
];
