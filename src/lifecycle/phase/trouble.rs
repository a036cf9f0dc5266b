//! What goes wrong beside the phase: told after its message, and no part of what phases are decided by.

/// What comes between the message of a phase and what goes wrong beside it.
const BESIDE: &str = "; beside that, ";

/// What others say, such as an operator about itself, without the words that set troubles apart.
pub(super) fn cleared(message: String) -> String {
    if message.contains(BESIDE) {
        message.replace(BESIDE, "; ")
    } else {
        message
    }
}

/// The message of a phase, and what goes wrong beside it.
pub fn with_trouble(message: &str, trouble: Option<&str>) -> String {
    match trouble {
        Some(trouble) => format!("{message}{BESIDE}{trouble}"),
        None => message.to_owned(),
    }
}

/// The message of a phase apart from what goes wrong beside it.
pub fn without_trouble(message: &str) -> (&str, Option<&str>) {
    match message.split_once(BESIDE) {
        Some((message, trouble)) => (message, Some(trouble)),
        None => (message, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_beside_a_message_is_told_apart_from_it_again() {
        for (message, trouble) in [
            ("all is well", Some("its condition could not be written")),
            ("all is well", None),
            ("", Some("no")),
        ] {
            let told = with_trouble(message, trouble);
            assert_eq!(without_trouble(&told), (message, trouble));
        }
    }
}
