//! Errors in words for people.

use std::error::Error;

use kube::runtime::watcher;

use crate::plan::steady::steady;

/// An error and its causes in one line, nothing twice, and the same text whenever it is the same error.
pub(crate) fn of(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in causes(error) {
        if text.contains(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    steady(&text)
}

/// An error and its causes, each in words.
pub(crate) fn causes(error: &anyhow::Error) -> Vec<String> {
    let mut told = Vec::new();
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<kube::Error>() {
            // It has its causes in it.
            told.push(of_api(error));
            break;
        }
        told.push(cause.to_string());
    }
    told
}

/// What the API server said, in its own words. `kube` adds its own form of the answer, which is for
/// programmers.
pub(crate) fn of_api(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.message.is_empty() => {
            format!("the API server answered with code {}", status.code)
        }
        kube::Error::Api(status) => steady(&status.message),
        other => {
            let mut text = other.to_string();
            let mut source = other.source();
            while let Some(cause) = source {
                let cause_text = cause.to_string();
                if !text.contains(&cause_text) {
                    text = format!("{text}: {cause_text}");
                }
                source = cause.source();
            }
            steady(&text)
        }
    }
}

/// Why a watch ended.
pub(crate) fn of_watch(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => of_api(error),
        watcher::Error::WatchError(status) => status.message.clone(),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}

/// The API server takes no longer texts in an Event.
const LONGEST_NOTE: usize = 1024;

/// A text for an Event, cut if it is too long.
pub(crate) fn note(text: &str) -> String {
    if text.len() <= LONGEST_NOTE {
        return text.to_owned();
    }
    let mut end = LONGEST_NOTE - '…'.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (start, _) = text.split_at(end);
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use kube::core::Status;

    use super::*;

    fn not_found() -> kube::Error {
        let status = Status::failure("services \"pier\" not found", "NotFound").with_code(404);
        kube::Error::Api(Box::new(status))
    }

    #[test]
    fn what_the_api_server_said_is_told_as_it_said_it() {
        assert_eq!(of_api(&not_found()), "services \"pier\" not found");
        let silent = kube::Error::Api(Box::new(Status::failure("", "").with_code(500)));
        assert_eq!(of_api(&silent), "the API server answered with code 500");
    }

    #[test]
    fn the_same_refusal_is_told_in_the_same_words_whenever_it_comes() {
        let refused = |at: &str| {
            let words = format!(
                "x509: certificate has expired: current time {at} is after 2026-02-13T00:00:00Z"
            );
            of_api(&kube::Error::Api(Box::new(Status::failure(
                &words,
                "InternalError",
            ))))
        };
        assert_eq!(
            refused("2026-02-14T06:57:20Z"),
            refused("2026-02-14T06:57:30Z")
        );
    }

    #[test]
    fn it_is_told_once_wherever_it_is_in_a_chain_of_causes() {
        let error = Err::<(), _>(not_found())
            .context("the address cannot be looked up")
            .unwrap_err();
        assert_eq!(
            of(&error),
            "the address cannot be looked up: services \"pier\" not found"
        );
    }

    #[test]
    fn a_long_note_is_cut_between_letters() {
        let long = "é".repeat(LONGEST_NOTE);
        let cut = note(&long);
        assert!(
            cut.len() <= LONGEST_NOTE && cut.ends_with("é…"),
            "{}",
            cut.len()
        );
        assert_eq!(note("short"), "short");
    }

    #[test]
    fn a_watch_tells_what_the_api_server_said() {
        let error = watcher::Error::InitialListFailed(not_found());
        assert_eq!(of_watch(&error), "services \"pier\" not found");
    }
}
