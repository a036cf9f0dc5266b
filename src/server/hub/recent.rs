//! What was used last, up to a number of bytes.

use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes by their keys; what was not used for the longest time goes first.
#[derive(Debug)]
pub(super) struct Recent {
    most: usize,
    /// The last one used at the end.
    entries: VecDeque<(String, Arc<[u8]>)>,
}

impl Recent {
    /// Keeps so many bytes at most.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            entries: VecDeque::new(),
        }
    }

    pub(super) fn get(&mut self, key: &str) -> Option<Arc<[u8]>> {
        let at = self.entries.iter().position(|(known, _)| known == key)?;
        let found = self.entries.remove(at)?;
        let bytes = found.1.clone();
        self.entries.push_back(found);
        Some(bytes)
    }

    /// Keeps what is not there yet. Something that is larger than all there is room for is kept alone.
    pub(super) fn put(&mut self, key: String, bytes: Arc<[u8]>) {
        self.entries.retain(|(known, _)| *known != key);
        self.entries.push_back((key, bytes));
        while self.entries.len() > 1 && self.size() > self.most {
            self.entries.pop_front();
        }
    }

    /// Keys take room too, for whoever has a great many small things.
    fn size(&self) -> usize {
        let entries = self.entries.iter();
        entries.map(|(key, bytes)| key.len() + bytes.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;

    #[test]
    fn what_was_not_used_for_the_longest_time_goes_first() {
        let mut recent = Recent::new(10);
        recent.put("a".to_owned(), [0; 4].into());
        recent.put("b".to_owned(), [0; 4].into());
        assert!(recent.get("a").is_some());
        recent.put("c".to_owned(), [0; 4].into());
        assert!(recent.get("b").is_none());
        assert!(recent.get("a").is_some() && recent.get("c").is_some());
    }

    #[test]
    fn what_is_put_twice_is_there_once() {
        let mut recent = Recent::new(10);
        recent.put("a".to_owned(), [0; 4].into());
        recent.put("b".to_owned(), [0; 4].into());
        recent.put("b".to_owned(), [0; 4].into());
        assert!(recent.get("a").is_some());
    }
}
