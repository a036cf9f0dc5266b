//! What was found out a moment ago and need not be asked again at once.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long an answer is good for: as long as for other API servers that ask.
const FRESH: Duration = Duration::from_secs(10);
/// How many answers are kept. The oldest go first.
const MOST: usize = 2048;

/// Answers by question, for a moment.
#[derive(Debug)]
pub(super) struct Brief<K, V>(Mutex<Answers<K, V>>);

#[derive(Debug)]
struct Answers<K, V> {
    by_question: HashMap<K, (Instant, V)>,
    /// In the order in which they were given.
    questions: VecDeque<(Instant, K)>,
}

impl<K, V> Default for Brief<K, V> {
    fn default() -> Self {
        Self(Mutex::new(Answers {
            by_question: HashMap::new(),
            questions: VecDeque::new(),
        }))
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Brief<K, V> {
    /// The answer to a question, if it was given a moment ago.
    pub(super) fn get(&self, question: &K) -> Option<V> {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (given, answer) = answers.by_question.get(question)?;
        (given.elapsed() < FRESH).then(|| answer.clone())
    }

    /// Keeps an answer for a moment.
    pub(super) fn put(&self, question: K, answer: V) {
        let now = Instant::now();
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while answers.questions.len() >= MOST
            || answers
                .questions
                .front()
                .is_some_and(|(given, _)| now.duration_since(*given) >= FRESH)
        {
            answers.forget_oldest();
        }
        answers.questions.push_back((now, question.clone()));
        answers.by_question.insert(question, (now, answer));
    }
}

impl<K: Eq + Hash, V> Answers<K, V> {
    fn forget_oldest(&mut self) {
        let Some((given, question)) = self.questions.pop_front() else {
            return;
        };
        // Asked again since, it is in the line a second time.
        let is_newer = |(newest, _): &(Instant, V)| *newest > given;
        if !self.by_question.get(&question).is_some_and(is_newer) {
            self.by_question.remove(&question);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<K, V>(brief: &Brief<K, V>) -> (usize, usize) {
        let answers = brief.0.lock().unwrap();
        (answers.by_question.len(), answers.questions.len())
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_good_for_a_moment_only() {
        let brief = Brief::default();
        brief.put("a", 1);
        assert_eq!(brief.get(&"a"), Some(1));
        let nearly = FRESH.saturating_sub(Duration::from_millis(1));
        tokio::time::advance(nearly).await;
        assert_eq!(brief.get(&"a"), Some(1));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(brief.get(&"a"), None);
        brief.put("b", 2);
        assert_eq!(size(&brief), (1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn however_much_is_asked_only_so_many_answers_are_kept() {
        let brief = Brief::default();
        for question in 0..3 * MOST {
            brief.put(question, ());
        }
        assert_eq!(size(&brief), (MOST, MOST));
        assert_eq!(brief.get(&0), None);
        assert_eq!(brief.get(&(3 * MOST - 1)), Some(()));
        for _ in 0..3 * MOST {
            brief.put(7, ());
        }
        assert_eq!(size(&brief), (1, MOST));
        assert_eq!(brief.get(&7), Some(()));
    }
}
