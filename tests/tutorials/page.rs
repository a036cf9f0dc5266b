//! A page of Markdown, as a reader follows it.
//!
//! - A block `console` has commands, each after `$ `, and below each of them what it shows. A command goes on
//!   in the next line after a `\`.
//! - A block `yaml` whose first line is a comment with the name of a file is that file.

use std::path::Path;

use anyhow::{Context as _, bail};

/// What a reader does.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    File { name: String, content: String },
    Command { line: String, shown: Vec<String> },
}

/// The commands of a program that a page mentions between backticks, in its text.
pub(crate) fn mentioned(text: &str, program: &str) -> Vec<String> {
    // Text, block, text, and so on.
    let texts = text.split("```").step_by(2);
    let spans = texts.flat_map(|text| text.split('`').skip(1).step_by(2));
    let commands = spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
    let start = format!("{program} ");
    commands.filter(|it| it.starts_with(&start)).collect()
}

impl Page {
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let mut steps = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(language) = line.trim_start().strip_prefix("```") else {
                continue;
            };
            let indent = line.len() - line.trim_start().len();
            let mut block = Vec::new();
            loop {
                let line = lines
                    .next()
                    .with_context(|| format!("`{line}` does not end"))?;
                let line = line.get(indent..).unwrap_or_default();
                if line == "```" {
                    break;
                }
                block.push(line);
            }
            match language.trim() {
                "console" => steps.extend(commands(&block)?),
                "yaml" => steps.extend(file(&block)),
                "text" | "mermaid" => {}
                // Whatever looks like a shell is to be run as well.
                other => bail!("a block is `{other}`, which nobody tests"),
            }
        }
        Ok(Self { steps })
    }
}

fn file(block: &[&str]) -> Option<Step> {
    let name = block.first()?.strip_prefix("# ")?;
    let is_yaml = Path::new(name).extension().is_some_and(|it| it == "yaml");
    let is_name = is_yaml && !name.contains(' ');
    is_name.then(|| Step::File {
        name: name.to_owned(),
        content: format!("{}\n", block.join("\n")),
    })
}

fn commands(block: &[&str]) -> anyhow::Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    for text in block {
        match (text.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step::Command {
                line: command.to_owned(),
                shown: Vec::new(),
            }),
            (None, Some(Step::Command { line, .. })) if line.ends_with('\\') => {
                line.push('\n');
                line.push_str(text);
            }
            (None, Some(Step::Command { shown, .. })) => shown.push((*text).to_owned()),
            (None, _) => bail!("`{text}` is below no command"),
        }
    }
    Ok(steps)
}

/// Which line of those that are shown is missing in what was printed, if any: each has to be there, in
/// this order, with anything between them. `…` stands for any words, and blanks are as wide as they like.
pub(crate) fn missing<'s>(shown: &'s [String], printed: &str) -> Option<&'s str> {
    let mut lines = printed.lines();
    shown
        .iter()
        .map(String::as_str)
        .filter(|line| !matches!(line.trim(), "" | "…"))
        .find(|line| !lines.any(|printed| is_like(line, printed)))
}

fn is_like(shown: &str, printed: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed = words(printed);
    let shown = words(shown);
    let parts: Vec<&str> = shown.split('…').map(str::trim).collect();
    let (first, rest) = parts.split_first().expect("at least one part");
    let Some(mut left) = printed.strip_prefix(first) else {
        return false;
    };
    let Some((last, between)) = rest.split_last() else {
        return left.is_empty();
    };
    for part in between {
        let Some(at) = left.find(part) else {
            return false;
        };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[test]
fn commands_in_the_text_are_found_although_lines_end_in_them() {
    let text = "Try `sail out`, or `sail\nhome --fast`.\n\n```console\n$ sail away `date`\n```\n\nNot `sailor one`.\n";
    assert_eq!(mentioned(text, "sail"), ["sail out", "sail home --fast"]);
}

#[test]
fn a_page_is_read_as_a_reader_does() {
    let text = "Write this:\n\n```yaml\n# a.yaml\na: 1\n```\n\n1. Then\n\n   ```console\n   $ cat \\\n       a.yaml\n   \
                a: 1\n   $ true\n   ```\n\n```yaml\nb: only to look at\n```\n";
    let command = |line: &str, shown: &[&str]| Step::Command {
        line: line.to_owned(),
        shown: shown.iter().map(ToString::to_string).collect(),
    };
    let file = Step::File {
        name: "a.yaml".to_owned(),
        content: "# a.yaml\na: 1\n".to_owned(),
    };
    let steps = Page::read(text).unwrap().steps;
    assert_eq!(
        steps,
        [
            file,
            command("cat \\\n    a.yaml", &["a: 1"]),
            command("true", &[])
        ]
    );
    for wrong in [
        "```sh\nmake demo\n```\n",
        "```console\n$ true\n",
        "```console\ntrue\n```\n",
    ] {
        assert!(Page::read(wrong).is_err(), "{wrong}");
    }
}
