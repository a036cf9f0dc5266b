//! Which packages of a catalog are offered.
//!
//! `CatalogSource.spec.packages` lists names and patterns, as a shell has them:
//!
//! | written | stands for |
//! |---|---|
//! | `*` | any text, also none |
//! | `?` | one character |
//! | `[a-c]`, `[!a-c]`, `[^a-c]` | one character of these, or not of these |
//!
//! A pattern has to fit the whole name. Case counts: names of packages are in lower case. A package
//! is offered if one of the entries fits. No list offers everything; an empty one cannot be told
//! from none and does the same.

#[cfg(test)]
mod tests;

/// Which packages of a catalog are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Curation {
    patterns: Vec<Vec<Piece>>,
}

/// A pattern that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` in spec.packages is no pattern: {problem}")]
pub struct CurationError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// Exactly this character.
    Char(char),
    /// One character, whichever.
    One,
    /// Any number of characters.
    Many,
    /// One character that is within one of the ranges, or within none.
    Set {
        ranges: Vec<(char, char)>,
        is_within: bool,
    },
}

impl Piece {
    fn fits(&self, char: char) -> bool {
        match self {
            Self::Char(own) => *own == char,
            Self::One | Self::Many => true,
            Self::Set { ranges, is_within } => {
                let within = |(first, last): &(char, char)| (*first..=*last).contains(&char);
                ranges.iter().any(within) == *is_within
            }
        }
    }
}

impl Curation {
    /// Reads the patterns of a catalog.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self, CurationError> {
        let patterns = patterns.iter().map(|pattern| {
            let pattern = pattern.as_ref();
            pieces(pattern).map_err(|problem| CurationError {
                pattern: pattern.to_owned(),
                problem,
            })
        });
        Ok(Self {
            patterns: patterns.collect::<Result<_, _>>()?,
        })
    }

    /// The same, and this package as well.
    #[must_use]
    pub fn and(&self, package: &str) -> Self {
        let mut more = self.clone();
        if !more.patterns.is_empty() {
            let pieces = package.chars().map(Piece::Char);
            more.patterns.push(pieces.collect());
        }
        more
    }

    /// Whether the package is offered.
    pub fn allows(&self, package: &str) -> bool {
        let name: Vec<char> = package.chars().collect();
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| fits(pattern, &name))
    }
}

fn pieces(pattern: &str) -> Result<Vec<Piece>, &'static str> {
    if pattern.is_empty() {
        return Err("it is empty; write `*` for all packages");
    }
    let mut pieces = Vec::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        pieces.push(match char {
            '*' => Piece::Many,
            '?' => Piece::One,
            '[' => {
                let rest = chars.as_str();
                // A `]` that comes first is one of the characters.
                let negated = usize::from(rest.starts_with(['!', '^']));
                let from = negated + usize::from(rest[negated..].starts_with(']'));
                let length = rest[from..].find(']').ok_or("`[` is not closed by `]`")?;
                let content = &rest[..from + length];
                chars = rest[from + length + 1..].chars();
                Piece::Set {
                    ranges: ranges(&content[negated..])?,
                    is_within: negated == 0,
                }
            }
            char if char.is_whitespace() || char.is_control() => {
                return Err("it has a blank in it; write one pattern per entry");
            }
            '{' | '}' | '\\' | '/' | ',' => {
                return Err("patterns have `*`, `?` and `[…]`, and names of packages no such sign");
            }
            char => Piece::Char(char),
        });
    }
    Ok(pieces)
}

/// The content of `[…]`.
fn ranges(content: &str) -> Result<Vec<(char, char)>, &'static str> {
    let chars: Vec<char> = content.chars().collect();
    let mut rest = chars.as_slice();
    let mut ranges = Vec::new();
    loop {
        rest = match rest {
            [] => return Ok(ranges),
            [first, '-', last, after @ ..] => {
                if first > last {
                    return Err("the range between `[` and `]` runs backwards");
                }
                ranges.push((*first, *last));
                after
            }
            [char, after @ ..] => {
                ranges.push((*char, *char));
                after
            }
        };
    }
}

/// Whether a pattern fits a whole name. Goes back only to the last `*`, which is enough, and so
/// takes no longer than the product of both lengths.
fn fits(pattern: &[Piece], name: &[char]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut retry = None;
    while let Some(char) = name.get(position) {
        match pattern.get(at) {
            Some(Piece::Many) => {
                at += 1;
                retry = Some((at, position));
            }
            Some(piece) if piece.fits(*char) => {
                at += 1;
                position += 1;
            }
            _ => {
                let Some((behind_star, taken)) = retry else {
                    return false;
                };
                at = behind_star;
                position = taken + 1;
                retry = Some((behind_star, position));
            }
        }
    }
    pattern.iter().skip(at).all(|piece| *piece == Piece::Many)
}
