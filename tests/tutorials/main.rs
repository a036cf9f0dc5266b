//! The tutorials, command by command, and the demo, on a real Kubernetes and a real registry.
//!
//! What a reader would type is typed here, in the order of the page: a command that fails, that is unknown,
//! or that prints something else than the page shows fails the test.

#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests may panic and print as tests do"
)]

#[allow(
    dead_code,
    unreachable_pub,
    reason = "other tests use the rest of these"
)]
#[path = "../support/cluster.rs"]
mod cluster;
mod demo;
mod guest;
mod page;
mod session;
mod stage;

use anyhow::ensure;

use cluster::repository;
use page::{Page, Step, mentioned};
use session::Session;
use stage::Stage;

/// What users read.
const PAGES: [&str; 6] = [
    "README.md",
    "docs/explanations.md",
    "docs/tutorials/admin.md",
    "docs/tutorials/browser.md",
    "docs/tutorials/publisher.md",
    "docs/tutorials/subscriber.md",
];

#[tokio::test]
async fn what_the_tutorial_for_browsers_says_is_so() {
    // Without a cluster, from a checkout.
    let mut session = Session::start(&[]).unwrap();
    session.has("catalog", &repository().join("catalog"));
    follow("browser", &mut session);
}

#[tokio::test]
async fn what_the_tutorial_for_admins_says_is_so() {
    let Some(stage) = Stage::bare().await.unwrap() else {
        return;
    };
    follow("admin", &mut stage.session().unwrap());
}

#[tokio::test]
async fn what_the_tutorial_for_subscribers_says_is_so() {
    let Some(stage) = Stage::cared_for().await.unwrap() else {
        return;
    };
    follow("subscriber", &mut stage.session().unwrap());
}

#[tokio::test]
async fn what_the_tutorial_for_publishers_says_is_so() {
    let Some(stage) = Stage::cared_for().await.unwrap() else {
        return;
    };
    follow("publisher", &mut stage.session().unwrap());
}

#[test]
fn commands_that_are_only_mentioned_exist_with_the_options_that_are_named() {
    let mut session = Session::start(&[]).unwrap();
    let mut count = 0;
    for page in PAGES {
        let text = fs_err::read_to_string(repository().join(page)).unwrap();
        for command in mentioned(&text, "chandler") {
            let words: Vec<&str> = command.split(' ').collect();
            let (options, others): (Vec<&str>, Vec<&str>) =
                words.into_iter().partition(|it| it.starts_with('-'));
            // Before the first option, where nothing is the value of one.
            let until = command.find(" -").unwrap_or(command.len());
            let asked = format!("{} --help", &command[..until]);
            assert!(others.len() > 1, "{page}: {command}");
            for option in options.into_iter().chain(["--help"]) {
                let shown = [format!("…{option}…")];
                session
                    .does(&asked, &shown)
                    .unwrap_or_else(|error| panic!("{page}: `{command}`: {error:#}"));
            }
            count += 1;
        }
        for command in mentioned(&text, "make") {
            let target = command.split(' ').nth(1).unwrap_or_default();
            let makefile = fs_err::read_to_string(repository().join("Makefile")).unwrap();
            let is_there = makefile.contains(&format!("\n{target}: "));
            assert!(is_there, "{page}: there is no `{command}`");
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn a_command_that_fails_or_prints_something_else_is_noticed() {
    let wrong = [
        ("```console\n$ false\n```\n", "ended with 1"),
        ("```console\n$ chandler instal\n```\n", "ended with 2"),
        ("```console\n$ kubectk get pods\n```\n", "ended with 127"),
        ("```console\n$ echo one two\none three\n```\n", "one three"),
        ("```console\n$ printf 'b\\na\\n'\na\nb\n```\n", "not shown"),
    ];
    for (text, why) in wrong {
        let error = walk(text, &mut Session::start(&[]).unwrap()).unwrap_err();
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
    let right =
        "```console\n$ printf 'a 1 x\\nb\\nc\\n'\na … x\nc\n$ cd .. && false; echo $?\n1\n```\n";
    walk(right, &mut Session::start(&[]).unwrap()).unwrap();
}

/// Does what a tutorial says.
fn follow(name: &str, session: &mut Session) {
    let path = repository().join(format!("docs/tutorials/{name}.md"));
    let text = fs_err::read_to_string(path).unwrap();
    walk(&text, session).unwrap_or_else(|error| panic!("docs/tutorials/{name}.md: {error:#}"));
}

fn walk(text: &str, session: &mut Session) -> anyhow::Result<()> {
    let page = Page::read(text)?;
    ensure!(!page.steps.is_empty(), "it has no commands");
    for step in page.steps {
        match step {
            Step::File { name, content } => session.write(&name, &content)?,
            Step::Command { line, shown } => session.does(&line, &shown)?,
        }
    }
    Ok(())
}
