//! Cutting a stream of JSON objects into its blobs without parsing them.
//!
//! A catalog may be one file of two hundred megabytes. What is held of it at any time is one blob
//! and a buffer; what is looked at are quotes and braces only.

use std::io::{self, Read};

use memchr::{memchr2, memchr3};

/// How much is read at a time.
const CHUNK: usize = 1 << 18;

/// The largest blob that is taken: nobody's bundle is that large, but a stream without an end is.
const LARGEST: usize = 256 << 20;

/// The objects of a stream, one after the other.
pub struct Blobs<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Where the next object begins, or the blanks before it.
    start: usize,
    ended: bool,
}

impl<R: Read> Blobs<R> {
    /// Reads objects from a stream.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            start: 0,
            ended: false,
        }
    }

    /// The bytes of the next object, or none at the end. Whether they are JSON inside of their
    /// braces is for the parser to say.
    pub fn next_blob(&mut self) -> io::Result<Option<&[u8]>> {
        let mut scan = Scan::default();
        let mut at = self.start;
        let begin = loop {
            match self.buffer[at..]
                .iter()
                .position(|byte| !byte.is_ascii_whitespace())
            {
                Some(offset) => break at + offset,
                None if self.ended => return Ok(None),
                None => {
                    self.start = self.buffer.len();
                    self.fill()?;
                    at = self.start;
                }
            }
        };
        if self.buffer[begin] != b'{' {
            return Err(invalid(
                "expected `{`: a blob of a catalog is a JSON object",
            ));
        }
        self.start = begin;
        let mut seen = 0;
        loop {
            match scan.end(&self.buffer[self.start + seen..]) {
                Some(end) => {
                    let (from, to) = (self.start, self.start + seen + end);
                    self.start = to;
                    return Ok(Some(&self.buffer[from..to]));
                }
                None if self.ended => return Err(invalid("the file ends in the middle of a blob")),
                None => {
                    seen = self.buffer.len() - self.start;
                    if seen > LARGEST {
                        return Err(invalid("a single blob of more than 256 MiB"));
                    }
                    self.fill()?;
                }
            }
        }
    }

    /// Reads more, after dropping what was handed out.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let before = self.buffer.len();
        self.buffer.resize(before + CHUNK, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.buffer.truncate(before + read);
        self.ended = read == 0;
        Ok(())
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// How far the search for the closing brace has come.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Scan {
    /// Looks at more bytes; the position after the closing brace, if it is among them.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.escaped {
                self.escaped = false;
                at += 1;
                continue;
            }
            if self.in_string {
                at += memchr2(b'"', b'\\', &bytes[at..])? + 1;
                match bytes[at - 1] {
                    b'"' => self.in_string = false,
                    _ => self.escaped = true,
                }
                continue;
            }
            at += memchr3(b'"', b'{', b'}', &bytes[at..])? + 1;
            match bytes[at - 1] {
                b'"' => self.in_string = true,
                b'{' => self.depth += 1,
                _ => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::Blobs;

    /// Hands out a few bytes at a time, so that every boundary falls everywhere.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn split(text: &str, step: usize) -> Result<Vec<String>, String> {
        let mut blobs = Blobs::new(Drip(text.as_bytes(), step));
        let mut found = Vec::new();
        while let Some(blob) = blobs.next_blob().map_err(|error| error.to_string())? {
            found.push(String::from_utf8(blob.to_vec()).unwrap());
        }
        Ok(found)
    }

    #[test]
    fn objects_are_cut_apart_wherever_a_chunk_ends() {
        let text = " {\"a\":\"}{\\\"\\\\\"}\n{\"b\":[{},{}]}{}\n\n";
        for step in 1..text.len() {
            assert_eq!(
                split(text, step).unwrap(),
                ["{\"a\":\"}{\\\"\\\\\"}", "{\"b\":[{},{}]}", "{}"]
            );
        }
    }

    #[test]
    fn an_empty_file_holds_nothing() {
        assert_eq!(split("", 1).unwrap(), Vec::<String>::new());
        assert_eq!(split(" \n", 1).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_object_or_has_no_end_is_refused() {
        assert!(split("[1]", 2).unwrap_err().contains("expected `{`"));
        assert!(split("{} x", 2).unwrap_err().contains("expected `{`"));
        assert!(
            split("{\"a\":\"}", 2)
                .unwrap_err()
                .contains("middle of a blob")
        );
        assert!(split("}", 1).unwrap_err().contains("expected `{`"));
    }

    proptest! {
        #[test]
        fn any_objects_come_out_as_they_went_in(
            texts in proptest::collection::vec("[\\x00-\\x7f{}\"\\\\äß€]{0,40}", 0..8),
            step in 1_usize..64,
        ) {
            let blobs: Vec<String> =
                texts.iter().map(|text| serde_json::json!({ text.clone(): [text] }).to_string()).collect();
            prop_assert_eq!(split(&blobs.join("\n"), step).unwrap(), blobs);
        }

        #[test]
        fn no_bytes_make_it_panic(text in "[{}\"\\\\a \n]{0,60}", step in 1_usize..9) {
            let _ = split(&text, step);
        }
    }
}
