//! The words of a rule.

use std::iter::Peekable;
use std::str::CharIndices;

/// A word of a rule, and where it begins, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    pub(super) offset: usize,
    pub(super) token: Token,
}

/// What a word is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// An integer; the sign is a word of its own.
    Int(u64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    /// An operator, a bracket or the like.
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}", "=",
];

/// Splits a rule into words. An error is what is wrong and where.
pub(super) fn words(text: &str) -> Result<Vec<Word>, (usize, String)> {
    let mut words = Vec::new();
    let mut offset = 0;
    while let Some(rest) = text.get(offset..)
        && let Some(first) = rest.chars().next()
    {
        if first.is_ascii_whitespace() {
            offset += 1;
        } else if rest.starts_with("//") {
            offset += rest.find('\n').unwrap_or(rest.len());
        } else {
            let (token, length) = word(rest, first).map_err(|problem| (offset, problem))?;
            words.push(Word { offset, token });
            offset += length;
        }
    }
    Ok(words)
}

/// The first word of a text, and its length in bytes.
fn word(text: &str, first: char) -> Result<(Token, usize), String> {
    let is_point = first == '.' && text[1..].starts_with(|c: char| c.is_ascii_digit());
    if first.is_ascii_digit() || is_point {
        return number(text);
    }
    if let Some(quoted) = Quoted::begins(text) {
        return quoted.read(text);
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let end = text
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        return Ok((Token::Name(text[..end].to_owned()), end));
    }
    SIGNS
        .iter()
        .find(|sign| text.starts_with(**sign))
        .map(|sign| (Token::Sign(sign), sign.len()))
        .ok_or_else(|| format!("`{first}` means nothing here"))
}

fn number(text: &str) -> Result<(Token, usize), String> {
    let digits = |from: usize, hex: bool| {
        let is_digit = move |c: char| {
            if hex {
                c.is_ascii_hexdigit()
            } else {
                c.is_ascii_digit()
            }
        };
        let rest = &text[from..];
        from + rest.find(|c| !is_digit(c)).unwrap_or(rest.len())
    };
    let is_hex = text.starts_with("0x");
    let mut end = if is_hex {
        digits(2, true)
    } else {
        digits(0, false)
    };
    let whole = end;
    if !is_hex {
        if text[end..].starts_with('.') && digits(end + 1, false) > end + 1 {
            end = digits(end + 1, false);
        }
        if text[end..].starts_with(['e', 'E']) {
            let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
            let exponent = digits(end + 1 + sign, false);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
    }
    let written = &text[..end];
    let wrong = || format!("`{written}` is too great, or no number");
    if end > whole {
        let double: f64 = written.parse().map_err(|_| wrong())?;
        return double
            .is_finite()
            .then_some((Token::Double(double), end))
            .ok_or_else(wrong);
    }
    let number = match written.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => written.parse(),
    };
    let number = number.map_err(|_| wrong())?;
    Ok(if text[end..].starts_with(['u', 'U']) {
        (Token::Uint(number), end + 1)
    } else {
        (Token::Int(number), end)
    })
}

/// How a string or bytes are quoted.
struct Quoted {
    /// Where the text begins.
    start: usize,
    quote: &'static str,
    is_raw: bool,
    is_bytes: bool,
}

impl Quoted {
    fn begins(text: &str) -> Option<Self> {
        let (start, is_raw, is_bytes) = ["br", "b", "r", ""].iter().find_map(|prefix| {
            let bare = text.get(prefix.len()..)?;
            (text[..prefix.len()].eq_ignore_ascii_case(prefix) && bare.starts_with(['"', '\'']))
                .then(|| (prefix.len(), prefix.ends_with('r'), prefix.starts_with('b')))
        })?;
        let quote = ["\"\"\"", "'''", "\"", "'"]
            .into_iter()
            .find(|quote| text[start..].starts_with(quote))?;
        Some(Self {
            start: start + quote.len(),
            quote,
            is_raw,
            is_bytes,
        })
    }

    fn read(&self, text: &str) -> Result<(Token, usize), String> {
        let mut content = Vec::new();
        let mut chars = text[self.start..].char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            let at = self.start + at;
            if text[at..].starts_with(self.quote) {
                return Ok((self.token(content)?, at + self.quote.len()));
            }
            if char == '\\' && !self.is_raw {
                self.escape(&mut chars, &mut content)?;
            } else if matches!(char, '\n' | '\r') && self.quote.len() == 1 {
                break;
            } else {
                push(char, &mut content);
            }
        }
        Err("a string begins here and does not end".to_owned())
    }

    fn token(&self, content: Vec<u8>) -> Result<Token, String> {
        if self.is_bytes {
            return Ok(Token::Bytes(content));
        }
        // Only whole characters were pushed.
        String::from_utf8(content)
            .map(Token::String)
            .map_err(|error| error.to_string())
    }

    /// Reads what follows a backslash.
    fn escape(
        &self,
        chars: &mut Peekable<CharIndices<'_>>,
        content: &mut Vec<u8>,
    ) -> Result<(), String> {
        let escaped = chars.next().map_or(' ', |(_, char)| char);
        let plain = match escaped {
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\\' | '?' | '"' | '\'' | '`' => escaped,
            'x' | 'X' => return self.numbered(chars, content, "", 2, 16),
            'u' => return self.numbered(chars, content, "", 4, 16),
            'U' => return self.numbered(chars, content, "", 8, 16),
            '0'..='3' => {
                return self.numbered(chars, content, escaped.encode_utf8(&mut [0; 4]), 2, 8);
            }
            _ => return Err(format!("`\\{escaped}` is no escape")),
        };
        push(plain, content);
        Ok(())
    }

    /// Reads a character or byte that is written as a number.
    fn numbered(
        &self,
        chars: &mut Peekable<CharIndices<'_>>,
        content: &mut Vec<u8>,
        first: &str,
        count: usize,
        radix: u32,
    ) -> Result<(), String> {
        let mut digits = first.to_owned();
        for _ in 0..count {
            if let Some((_, digit)) = chars.next_if(|(_, char)| char.is_digit(radix)) {
                digits.push(digit);
            }
        }
        let wrong = || format!("`{digits}` behind a backslash is no character");
        if digits.len() != first.len() + count {
            return Err(wrong());
        }
        let number = u32::from_str_radix(&digits, radix).map_err(|_| wrong())?;
        // In bytes an escape of two hexadecimal or three octal digits is one byte.
        match u8::try_from(number) {
            Ok(byte) if self.is_bytes && count == 2 => content.push(byte),
            _ => push(char::from_u32(number).ok_or_else(wrong)?, content),
        }
        Ok(())
    }
}

fn push(char: char, content: &mut Vec<u8>) {
    content.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}
