//! `-o`

use clap::ValueEnum;

/// How an answer is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Output {
    /// For people: a table on a terminal, plain lines in a pipe
    #[default]
    Text,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

/// How a file-based catalog is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Stream {
    /// A stream of JSON blobs
    #[default]
    Json,
    /// A stream of YAML documents
    Yaml,
}

/// How a graph is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Picture {
    /// For Graphviz
    #[default]
    Dot,
    /// For Markdown
    Mermaid,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
    /// For people
    Text,
}
