//! From the parser's events to nodes: anchors, merge keys, duplicate keys, and the limits.
//!
//! Nothing here recurses, so no input can exhaust the stack. The nodes written are bounded by the
//! length of the text; aliases are not, so what they would add to the document once it is copied
//! out is counted when they are met, before anything is copied.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_yaml::granit_parser::{self, ErrorKind, Event, Parser, ScalarStyle, ScanError, Span};

use super::mapping::{last_wins, merge};
use super::mend::Flaw;
use super::node::{Data, Entry, Node, Position};
use super::scalar::Meaning;
use super::tag::{Key, Kind, key_text, meaning, scalar_key};

/// How deep collections may be nested: as deep as `serde_json` reads them.
pub const MAX_DEPTH: usize = 127;

/// What stopped the composition of a text.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) at: Position,
    pub(super) kind: ProblemKind,
    pub(super) text: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProblemKind {
    Syntax,
    Limit,
    /// A comment follows without a blank. Go does not mind.
    Comment {
        /// Where it begins, in bytes.
        offset: usize,
    },
    /// A line inside quotes is indented too little for YAML 1.2, though not for Go.
    Indentation(Flaw),
}

impl Problem {
    fn syntax(at: Position, text: impl Into<String>) -> Self {
        Self {
            at,
            kind: ProblemKind::Syntax,
            text: text.into(),
        }
    }

    fn limit(at: Position, text: impl Into<String>) -> Self {
        Self {
            at,
            kind: ProblemKind::Limit,
            text: text.into(),
        }
    }
}

/// The documents of a text, empty ones included. Positions count from `lines_before` lines ahead.
pub(super) fn compose(text: &str, lines_before: usize) -> Result<Vec<Node>, Problem> {
    let mut options = granit_parser::Options::default();
    options.set_emit_comments(false);
    // Ours is the limit that counts; these two only keep the parser's own state small.
    options.flow_nesting_limit = MAX_DEPTH + 1;
    options.block_nesting_limit = MAX_DEPTH + 1;

    let mut composer = Composer::new(text, lines_before);
    let mut last = Span::default();
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => {
                composer.event(event, &span)?;
                last = span;
            }
            Err(error) => return Err(scan_problem(&error, &last, lines_before)),
        }
    }
    Ok(composer.documents)
}

fn scan_problem(error: &ScanError, last: &Span, lines_before: usize) -> Problem {
    let marker = error.marker();
    let at = Position::of(lines_before + marker.line(), marker.col());
    let text = with_advice(error.kind().to_string());
    let kind = match (error.kind(), marker.byte_offset(), last.end.byte_offset()) {
        (ErrorKind::RecursionLimitExceeded, ..) => return Problem::limit(at, too_deep()),
        (ErrorKind::CommentNotSeparated, Some(offset), _) => ProblemKind::Comment { offset },
        (kind, Some(offset), Some(after)) if Flaw::is_named_by(kind) => {
            let enough = last.start.col() + 1;
            ProblemKind::Indentation(Flaw {
                offset,
                after,
                enough,
            })
        }
        _ => ProblemKind::Syntax,
    };
    Problem { at, kind, text }
}

/// What the parser says, and, where it leaves that open, what was expected.
fn with_advice(message: String) -> String {
    let advice = if message.starts_with("unexpected character") {
        "expected a value: a text that begins with this character needs quotes"
    } else if message.starts_with("mapping values are not allowed") {
        "expected one `key: value` on a line: a text with `: ` in it needs quotes"
    } else if message.contains("found a tab") {
        "expected blanks: YAML is indented with them only"
    } else if message.contains("found unknown anchor") {
        "expected one that was given a name with `&` before"
    } else {
        return message;
    };
    format!("{message}; {advice}")
}

fn too_deep() -> String {
    format!("nested deeper than {MAX_DEPTH} levels")
}

/// How much of the document a node makes up once its aliases are copied out.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    bytes: usize,
    height: usize,
}

impl Weight {
    fn add(&mut self, child: Self) {
        self.nodes = self.nodes.saturating_add(child.nodes);
        self.bytes = self.bytes.saturating_add(child.bytes);
        self.height = self.height.max(child.height + 1);
    }
}

/// A collection that has begun and not ended.
struct Open {
    at: Position,
    anchor: usize,
    weight: Weight,
    content: Content,
}

enum Content {
    Sequence(Vec<Node>),
    Mapping {
        entries: Vec<Entry>,
        key: Option<Key>,
    },
}

/// A finished node on its way to its parent.
struct Done {
    node: Node,
    weight: Weight,
    alias: bool,
}

struct Composer<'text> {
    text: &'text str,
    lines_before: usize,
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Arc<Node>, Weight)>,
    written: usize,
    aliased: Weight,
}

impl<'text> Composer<'text> {
    fn new(text: &'text str, lines_before: usize) -> Self {
        Self {
            text,
            lines_before,
            documents: Vec::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            written: 0,
            aliased: Weight::default(),
        }
    }

    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Problem> {
        let at = Position::of(self.lines_before + span.start.line(), span.start.col());
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, tag) => {
                self.written += 1;
                let text = self.without_added_break(text, style, span);
                let tag = Kind::of(tag.as_deref());
                if self.wants_key() {
                    let key = scalar_key(&text, style, tag).map_err(|e| Problem::syntax(at, e))?;
                    if anchor == 0 || matches!(key, Key::Merge) {
                        self.key(key, text.len());
                        return Ok(());
                    }
                }
                let bytes = text.len();
                let data = match meaning(&text, style, tag).map_err(|e| Problem::syntax(at, e))? {
                    Meaning::Null => Data::Null,
                    Meaning::Bool(bool) => Data::Bool(bool),
                    Meaning::Int(int) => Data::Int(int),
                    Meaning::Uint(int) => Data::Uint(int),
                    Meaning::Float(float) => Data::Float(float),
                    Meaning::Text => Data::Text(text.into_owned()),
                };
                let weight = Weight {
                    nodes: 1,
                    bytes,
                    height: 0,
                };
                self.finish(Node { at, data }, weight, anchor)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(at, anchor, Content::Sequence(Vec::new()))?;
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(
                    at,
                    anchor,
                    Content::Mapping {
                        entries: Vec::new(),
                        key: None,
                    },
                )?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open {
                    at,
                    anchor,
                    weight,
                    content,
                }) = self.open.pop()
                {
                    let data = match content {
                        Content::Sequence(nodes) => Data::Sequence(nodes),
                        Content::Mapping { entries, .. } => Data::Mapping(last_wins(entries)),
                    };
                    self.finish(Node { at, data }, weight, anchor)?;
                }
            }
            Event::Alias(anchor) => self.alias(at, anchor)?,
            _ => {}
        }
        Ok(())
    }

    /// A block scalar that ends with the text and not with a line break has none at its end: the
    /// parser adds one, Go does not.
    fn without_added_break<'a>(
        &self,
        mut scalar: Cow<'a, str>,
        style: ScalarStyle,
        span: &Span,
    ) -> Cow<'a, str> {
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
            && span.end.byte_offset() == Some(self.text.len())
            && let Some(body) = scalar.strip_suffix('\n')
        {
            let last_line = self
                .text
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .trim_start();
            if !last_line.is_empty() && body.ends_with(last_line) {
                scalar = Cow::Owned(body.to_owned());
            }
        }
        scalar
    }

    fn begin(&mut self, at: Position, anchor: usize, content: Content) -> Result<(), Problem> {
        if self.wants_key() {
            return Err(Problem::syntax(
                at,
                "a mapping key must be a scalar, found a collection",
            ));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(Problem::limit(at, too_deep()));
        }
        self.written += 1;
        let weight = Weight {
            nodes: 1,
            ..Weight::default()
        };
        self.open.push(Open {
            at,
            anchor,
            weight,
            content,
        });
        Ok(())
    }

    fn finish(&mut self, mut node: Node, weight: Weight, anchor: usize) -> Result<(), Problem> {
        if anchor != 0 {
            let at = node.at;
            let shared = Arc::new(node);
            self.anchors.insert(anchor, (Arc::clone(&shared), weight));
            node = Node {
                at,
                data: Data::Shared(shared),
            };
        }
        self.place(Done {
            node,
            weight,
            alias: false,
        })
    }

    fn alias(&mut self, at: Position, anchor: usize) -> Result<(), Problem> {
        let Some((target, weight)) = self.anchors.get(&anchor) else {
            return Err(Problem::syntax(
                at,
                "the anchor's own value contains this alias",
            ));
        };
        let (target, weight) = (Arc::clone(target), *weight);
        self.written += 1;
        self.aliased.add(weight);
        self.check_aliases(at)?;
        if self.open.len() + weight.height > MAX_DEPTH {
            return Err(Problem::limit(at, too_deep()));
        }
        self.place(Done {
            node: Node {
                at,
                data: Data::Shared(target),
            },
            weight,
            alias: true,
        })
    }

    /// Go's own measure, more or less: up to 99 parts in 100 of a document may come from aliases
    /// while it is small, one in ten when it is large. Bytes count too, because we copy strings.
    fn check_aliases(&self, at: Position) -> Result<(), Problem> {
        let nodes = self
            .written
            .saturating_mul(99)
            .clamp(1_000, 400_000)
            .max(self.written / 9);
        let bytes = self.text.len().saturating_mul(8).max(1 << 20);
        if self.aliased.nodes > nodes || self.aliased.bytes > bytes {
            let problem = "aliases make the document many times longer than it is written";
            return Err(Problem::limit(at, problem));
        }
        Ok(())
    }

    fn wants_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Open {
                content: Content::Mapping { key: None, .. },
                ..
            })
        )
    }

    fn key(&mut self, new: Key, bytes: usize) {
        if let Some(Open {
            weight,
            content: Content::Mapping { key, .. },
            ..
        }) = self.open.last_mut()
        {
            weight.bytes = weight.bytes.saturating_add(bytes);
            *key = Some(new);
        }
    }

    /// Puts a finished node where it belongs.
    fn place(&mut self, done: Done) -> Result<(), Problem> {
        if self.wants_key() {
            let key = node_key(&done.node).map_err(|e| Problem::syntax(done.node.at, e))?;
            self.key(Key::Text(key), done.weight.bytes);
            return Ok(());
        }
        let Some(parent) = self.open.last_mut() else {
            self.documents.push(done.node);
            return Ok(());
        };
        parent.weight.add(done.weight);
        match &mut parent.content {
            Content::Sequence(nodes) => nodes.push(done.node),
            Content::Mapping { entries, key } => match key.take() {
                Some(Key::Text(key)) => entries.push(Entry {
                    key,
                    value: done.node,
                }),
                Some(Key::Merge) => {
                    let at = done.node.at;
                    merge(entries, done.node, done.alias)
                        .map_err(|problem| Problem::syntax(at, problem))?;
                }
                None => {}
            },
        }
        Ok(())
    }
}

/// The key that a node with an anchor, or an alias, stands for.
fn node_key(node: &Node) -> Result<String, String> {
    match &node.data {
        Data::Shared(node) => node_key(node),
        Data::Null => key_text(Meaning::Null, ""),
        Data::Bool(bool) => key_text(Meaning::Bool(*bool), ""),
        Data::Int(int) => key_text(Meaning::Int(*int), ""),
        Data::Uint(int) => key_text(Meaning::Uint(*int), ""),
        Data::Float(float) => key_text(Meaning::Float(*float), ""),
        Data::Text(text) => Ok(text.clone()),
        Data::Sequence(_) | Data::Mapping(_) => {
            Err("a mapping key must be a scalar, found a collection".to_owned())
        }
    }
}
