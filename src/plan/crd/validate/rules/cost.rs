//! What a rule may cost at worst, told from its text.
//!
//! This is no parser. It counts what makes an evaluation long: macros within macros, and functions
//! whose results can be larger than what they are given.

/// How long a rule may be; the longest one in OperatorHub.io's bundles has 446 letters.
const LONGEST: usize = 8_192;
const MOST_TOKENS: usize = 800;
/// How deep brackets may nest: each level takes the interpreter much of its stack.
const DEEPEST: usize = 24;
/// How many `? :` there may be: the interpreter fails on long chains of them.
const MOST_CHOICES: usize = 16;

/// Macros that go through a list or a map.
const LOOPS: [&str; 10] = [
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "filter",
    "map",
    "sortBy",
    "transformList",
    "transformMap",
    "transformMapEntry",
];

/// What may give more than it takes, or looks at everything more than once.
const GROWING: [&str; 18] = [
    "bind",
    "distinct",
    "equivalent",
    "findAll",
    "flatten",
    "format",
    "intersects",
    "join",
    "map",
    "replace",
    "reverse",
    "sort",
    "sortBy",
    "split",
    "sum",
    "transformList",
    "transformMap",
    "transformMapEntry",
];

/// What takes a pattern.
const MATCHING: [&str; 3] = ["find", "findAll", "matches"];

/// The cost of a rule: `factor × (weight of the value + tokens) ^ power`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    power: u32,
    factor: u64,
    tokens: usize,
}

impl Cost {
    /// The cost of a rule, or why it is not asked at all.
    pub(super) fn of(rule: &str) -> Result<Self, &'static str> {
        if rule.len() > LONGEST {
            return Err("it is too long");
        }
        let mut reader = Reader::new(rule);
        reader.read()?;
        Ok(Self {
            power: (reader.deepest_loop + reader.growing).max(1),
            factor: reader.factor,
            tokens: reader.tokens,
        })
    }

    /// The steps for a value of that weight.
    pub(super) fn steps(self, weight: usize) -> u64 {
        let size = u64::try_from(weight.saturating_add(self.tokens)).unwrap_or(u64::MAX);
        size.saturating_pow(self.power).saturating_mul(self.factor)
    }
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    tokens: usize,
    choices: usize,
    /// Open brackets; those of a loop are `true`.
    open: Vec<bool>,
    deepest_loop: u32,
    growing: u32,
    factor: u64,
    /// The name right before.
    name: String,
    /// Whether a pattern comes next.
    expects_pattern: bool,
    signs: usize,
}

impl<'a> Reader<'a> {
    fn new(rule: &'a str) -> Self {
        Self {
            rest: rule.chars().peekable(),
            tokens: 0,
            choices: 0,
            open: Vec::new(),
            deepest_loop: 0,
            growing: 0,
            factor: 1,
            name: String::new(),
            expects_pattern: false,
            signs: 0,
        }
    }

    fn read(&mut self) -> Result<(), &'static str> {
        while let Some(letter) = self.rest.next() {
            if letter.is_whitespace() {
                continue;
            }
            self.tokens += 1;
            if self.tokens > MOST_TOKENS {
                return Err("it has too many parts");
            }
            let expected_pattern = std::mem::take(&mut self.expects_pattern);
            match letter {
                '"' | '\'' => self.text(letter),
                _ if letter.is_alphanumeric() || letter == '_' => {
                    self.name(letter);
                    if expected_pattern {
                        self.unknown_pattern();
                    }
                    continue;
                }
                _ if expected_pattern => self.unknown_pattern(),
                _ => {}
            }
            match letter {
                '(' | '[' | '{' => self.opened(letter)?,
                ')' | ']' | '}' => {
                    self.open.pop();
                }
                '?' => self.choices += 1,
                _ => {}
            }
            if self.choices > MOST_CHOICES {
                return Err("it has too many choices");
            }
            self.signs = if matches!(letter, '!' | '-') {
                self.signs + 1
            } else {
                0
            };
            if self.signs > DEEPEST {
                return Err("it nests too deep");
            }
            self.name.clear();
        }
        Ok(())
    }

    fn name(&mut self, first: char) {
        self.name.clear();
        self.name.push(first);
        self.signs = 0;
        while let Some(letter) = self
            .rest
            .next_if(|next| next.is_alphanumeric() || *next == '_')
        {
            self.name.push(letter);
        }
    }

    fn opened(&mut self, bracket: char) -> Result<(), &'static str> {
        let called = if bracket == '(' {
            self.name.as_str()
        } else {
            ""
        };
        if called == "range" {
            return Err("it makes lists of any length");
        }
        self.open.push(LOOPS.contains(&called));
        self.growing += u32::from(GROWING.contains(&called));
        self.expects_pattern = MATCHING.contains(&called);
        if self.open.len() > DEEPEST {
            return Err("it nests too deep");
        }
        let loops = self.open.iter().filter(|is_loop| **is_loop).count();
        self.deepest_loop = self
            .deepest_loop
            .max(u32::try_from(loops).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Reads a text to its end. Repetitions in it count, as it may be a pattern.
    fn text(&mut self, quote: char) {
        let is_raw = matches!(self.name.as_str(), "r" | "R");
        let is_long = self.rest.clone().take(2).eq([quote, quote]);
        if is_long {
            self.rest.next();
            self.rest.next();
        }
        let mut text = String::new();
        while let Some(letter) = self.rest.next() {
            if letter == '\\' && !is_raw {
                text.extend(self.rest.next());
            } else if letter == quote && !is_long {
                break;
            } else if letter == quote && self.rest.clone().take(2).eq([quote, quote]) {
                self.rest.next();
                self.rest.next();
                break;
            } else {
                text.push(letter);
            }
        }
        self.factor = self.factor.saturating_add(repetitions(&text) / 32);
    }

    /// A pattern that is not written out can be anything.
    fn unknown_pattern(&mut self) {
        self.factor = self.factor.max(1_000);
    }
}

/// How often the parts of a pattern repeat at most, multiplied as if all were nested.
fn repetitions(pattern: &str) -> u64 {
    let mut product: u64 = 1;
    for part in pattern.split('{').skip(1) {
        let inside = part.split('}').next().unwrap_or_default();
        let times = inside
            .split(',')
            .filter_map(|number| number.trim().parse::<u64>().ok());
        product = product.saturating_mul(times.max().unwrap_or(1).max(1));
    }
    product
}
