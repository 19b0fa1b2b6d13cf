//! The hold-back emitter: turns chunks cut anywhere into pieces in which no marker is cut.
//!
//! From an unclosed opener (`[`, `【`, `［`, `<|`, U+E200) everything is held until its partner comes, a line ends, or more
//! than the limit would be held. Then it goes out at once. A lone `<` at the end of a chunk waits for one more character.
//!
//! ```text
//!            opener                    closer at depth 0, line end: release all
//!   [ free ] ───────▶ [ holding ] ────────────────────────────────────────────▶ [ free ]
//!      ▲ text passes     │  ▲ opener: depth + 1, closer: depth - 1
//!      └ uncopied        └──┘ over the limit: release up to the next unclosed opener, which starts a new candidate
//! ```
//!
//! The emitter knows nothing of sources, Markdown or the marker grammar, and rewrites nothing. What it guarantees:
//! 1. pieces joined, plus what `finish` gives, are the chunks joined, byte for byte;
//! 2. no piece ends inside a marker of at most `hold_limit` bytes;
//! 3. never more than `hold_limit` bytes are held, and the work is linear in the input;
//! 4. text outside a candidate is given out in the same call, without copying.

use std::collections::VecDeque;

/// Smallest and largest hold limit in bytes.
pub const HOLD_LIMITS: std::ops::RangeInclusive<usize> = 8..=4096;

/// The emitter. One per answer.
///
/// ```
/// use citewire::answer::holdback::HoldBack;
/// let mut emitter = HoldBack::new(128);
/// assert_eq!(emitter.push("25 dollars ["), "25 dollars ");
/// assert_eq!(emitter.push("1]. Rides"), "[1]. Rides");
/// assert_eq!(emitter.finish(), "");
/// ```
#[derive(Debug)]
pub struct HoldBack {
    limit: usize,
    /// What is held, behind what the last call gave out.
    buffer: String,
    /// Bytes at the front of `buffer` that the last call gave out.
    given: usize,
    /// Bytes of `buffer` that have been looked at.
    scanned: usize,
    /// Openers in `buffer` whose partner has not come, oldest first. Empty: nothing is held but perhaps a lone `<`.
    open: VecDeque<Opener>,
    /// Where the last `|>` and the last U+E201 in `buffer` begin: whether a foreign opener has met its end.
    last_end: [Option<usize>; 2],
}

#[derive(Debug, Clone, Copy)]
struct Opener {
    /// Byte in `buffer`.
    at: usize,
    kind: Kind,
}

/// What closes an opener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Any closing bracket.
    Bracket,
    /// `|>` alone.
    Pipe,
    /// U+E201 alone.
    PrivateUse,
}

/// A place in the text that may begin or end something.
enum Token {
    Open(Kind),
    Close(Kind),
    LineEnd,
}

impl HoldBack {
    /// An emitter that holds at most `hold_limit` bytes, brought into [`HOLD_LIMITS`].
    #[must_use]
    pub fn new(hold_limit: usize) -> Self {
        Self {
            limit: hold_limit.clamp(*HOLD_LIMITS.start(), *HOLD_LIMITS.end()),
            buffer: String::new(),
            given: 0,
            scanned: 0,
            open: VecDeque::new(),
            last_end: [None; 2],
        }
    }

    /// Takes a chunk and gives out what can no longer become a marker: possibly nothing, possibly text held earlier.
    pub fn push<'a>(&'a mut self, chunk: &'a str) -> &'a str {
        self.forget_given();
        if self.buffer.is_empty() {
            let free = first_opener(chunk);
            let (piece, candidate) = chunk.split_at_checked(free).unwrap_or((chunk, ""));
            if candidate.is_empty() {
                return piece;
            }
            self.buffer.push_str(candidate);
            self.scan();
            if self.given == 0 {
                return piece;
            }
            // Something behind the opener is free too: the piece must be whole, so it goes through the buffer.
            self.buffer.insert_str(0, piece);
            self.given += piece.len();
            self.shift(0, piece.len());
        } else {
            self.buffer.push_str(chunk);
            self.scan();
        }
        self.buffer.get(..self.given).unwrap_or_default()
    }

    /// What is held; at the end of the text it goes out as it is.
    pub fn finish(&mut self) -> &str {
        self.forget_given();
        self.open.clear();
        self.given = self.buffer.len();
        &self.buffer
    }

    /// What is held now.
    #[must_use]
    pub fn held(&self) -> &str {
        self.buffer.get(self.given..).unwrap_or_default()
    }

    /// Drops from the buffer what the last call gave out.
    fn forget_given(&mut self) {
        if self.given == self.buffer.len() {
            self.buffer.clear();
            // One large chunk must not leave a large buffer behind in every open answer.
            self.buffer.shrink_to(2 * self.limit);
        } else {
            self.buffer.drain(..self.given);
        }
        self.shift(self.given, 0);
        self.given = 0;
    }

    /// Moves every remembered place back by `back` bytes and on by `on`.
    fn shift(&mut self, back: usize, on: usize) {
        self.scanned = self.scanned.saturating_sub(back) + on;
        for opener in &mut self.open {
            opener.at = opener.at - back + on;
        }
        for end in &mut self.last_end {
            *end = end.and_then(|e| e.checked_sub(back)).map(|e| e + on);
        }
    }

    /// Looks at what is new in the buffer and decides how much of it can go.
    fn scan(&mut self) {
        while let Some((at, len, token)) = self.next_token() {
            self.scanned = at;
            self.drop_overlong(at + len);
            self.scanned = at + len;
            match token {
                Token::Open(kind) if !self.in_foreign() => self.open.push_back(Opener { at, kind }),
                Token::Close(Kind::Bracket) => {
                    self.open.pop_back_if(|o| o.kind == Kind::Bracket);
                }
                Token::Close(kind) => {
                    if let Some(end) = self.last_end.get_mut(kind as usize - 1) {
                        *end = Some(at);
                    }
                    self.open.pop_back_if(|o| o.kind == kind && at >= o.at + kind.opener_len());
                }
                Token::LineEnd => self.open.clear(),
                Token::Open(_) => {}
            }
        }
        let end = self.buffer.len();
        self.drop_overlong(end);
        let lone = self.open.is_empty() && self.buffer.ends_with('<');
        // Half a token may stand at the end: it is looked at again with what follows.
        self.scanned = self.scanned.max(end - usize::from(self.buffer.ends_with(['<', '|'])));
        self.given = self.open.front().map_or(end - usize::from(lone), |front| front.at);
    }

    fn in_foreign(&self) -> bool {
        self.open.back().is_some_and(|o| o.kind != Kind::Bracket)
    }

    /// Gives up candidates that would hold more than the limit once the text reaches `end`.
    fn drop_overlong(&mut self, end: usize) {
        while let Some(front) = self.open.front().copied().filter(|front| end - front.at > self.limit) {
            self.open.pop_front();
            if front.kind != Kind::Bracket {
                self.reread(front.at + front.kind.opener_len());
            }
        }
    }

    /// A foreign opener was given up: what looked like its inside is ordinary text, in which openers count again. Stops at
    /// the next foreign opener that has met no end, since behind that nothing counts; so the work stays linear.
    fn reread(&mut self, from: usize) {
        let (mut at, end) = (from, self.scanned);
        while let Some((token_at, len, token)) = token_from(&self.buffer, at).filter(|(t, len, _)| t + len <= end) {
            at = token_at + len;
            match token {
                Token::Open(kind) if !self.in_foreign() => {
                    self.open.push_back(Opener { at: token_at, kind });
                    let unmet = |e: &Option<usize>| e.is_none_or(|e| e < at);
                    if kind != Kind::Bracket && self.last_end.get(kind as usize - 1).is_some_and(unmet) {
                        return;
                    }
                }
                Token::Close(kind) => {
                    self.open.pop_back_if(|o| o.kind == kind && token_at >= o.at + kind.opener_len());
                }
                Token::LineEnd => self.open.clear(),
                Token::Open(_) => {}
            }
        }
    }

    fn next_token(&self) -> Option<(usize, usize, Token)> {
        token_from(&self.buffer, self.scanned)
    }
}

impl Kind {
    fn opener_len(self) -> usize {
        match self {
            Self::Bracket => 1,
            Self::Pipe => "<|".len(),
            Self::PrivateUse => '\u{E200}'.len_utf8(),
        }
    }
}

/// Where in `chunk` the first opener begins, or a `<` that ends it; its length when there is none.
fn first_opener(chunk: &str) -> usize {
    let bytes = chunk.as_bytes();
    let mut at = 0;
    loop {
        let Some(found) = find_first_byte(bytes, at) else { return bytes.len() };
        let is_opener = match bytes.get(found) {
            Some(b'<') => matches!(bytes.get(found + 1), None | Some(b'|')),
            Some(b'[') => true,
            _ => matches!(token_at(chunk, found), Some((_, Token::Open(_)))),
        };
        if is_opener {
            return found;
        }
        at = found + 1;
    }
}

/// Below this many bytes a plain loop beats the start-up of two vector searches.
const SHORT: usize = 48;

/// The next byte at or behind `at` that may begin an opener.
fn find_first_byte(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    if rest.len() < SHORT {
        return rest.iter().position(|b| matches!(b, b'[' | b'<' | 0xE3 | 0xEE | 0xEF)).map(|i| at + i);
    }
    let ascii_or_lenticular = memchr::memchr3(b'[', b'<', 0xE3, rest).unwrap_or(rest.len());
    let before = rest.get(..ascii_or_lenticular)?;
    let found = memchr::memchr2(0xEE, 0xEF, before).unwrap_or(ascii_or_lenticular);
    (found < rest.len()).then_some(at + found)
}

/// The first token at or behind `from`: where, how long, what.
fn token_from(text: &str, from: usize) -> Option<(usize, usize, Token)> {
    let mut at = from;
    loop {
        let special = |b: &u8| matches!(b, b'[' | b']' | b'\n' | b'\r' | b'<' | b'|' | 0xE3 | 0xEE | 0xEF);
        at += text.as_bytes().get(at..)?.iter().position(special)?;
        if let Some((len, token)) = token_at(text, at) {
            return Some((at, len, token));
        }
        at += 1;
    }
}

fn token_at(text: &str, at: usize) -> Option<(usize, Token)> {
    let rest = text.get(at..)?;
    let c = rest.chars().next()?;
    let token = match c {
        '[' | '【' | '［' => Token::Open(Kind::Bracket),
        ']' | '】' | '］' => Token::Close(Kind::Bracket),
        '\u{E200}' => Token::Open(Kind::PrivateUse),
        '\u{E201}' => Token::Close(Kind::PrivateUse),
        '\n' | '\r' => Token::LineEnd,
        '<' if rest.starts_with("<|") => return Some((2, Token::Open(Kind::Pipe))),
        '|' if rest.starts_with("|>") => return Some((2, Token::Close(Kind::Pipe))),
        _ => return None,
    };
    Some((c.len_utf8(), token))
}
