//! The list itself.

use std::collections::BTreeMap;

use tokio::sync::watch;

use crate::gopher::Gopher;

/// How many gophers there is room for.
const ROOM: usize = 10_000;

/// Gophers by id.
pub(crate) type Gophers = BTreeMap<String, Gopher>;

/// A list of gophers that can be followed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Burrow {
    gophers: watch::Sender<Gophers>,
}

/// Why something was not done.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{0}")]
    Malformed(String),
    #[error("no gopher has the id {0:?}")]
    Unknown(String),
    #[error("gopher {0:?} is here already: change it with PUT")]
    Exists(String),
    #[error("there is no room for more than {ROOM} gophers")]
    Full,
}

impl Burrow {
    pub(crate) fn all(&self) -> Vec<Gopher> {
        self.gophers.borrow().values().cloned().collect()
    }

    pub(crate) fn get(&self, id: &str) -> Result<Gopher, Refusal> {
        let gophers = self.gophers.borrow();
        let found = gophers.get(id).cloned();
        found.ok_or_else(|| Refusal::Unknown(id.to_owned()))
    }

    pub(crate) fn create(&self, gopher: Gopher) -> Result<Gopher, Refusal> {
        self.change(|gophers| {
            if gophers.contains_key(&gopher.id) {
                return Err(Refusal::Exists(gopher.id));
            }
            if gophers.len() >= ROOM {
                return Err(Refusal::Full);
            }
            gophers.insert(gopher.id.clone(), gopher.clone());
            Ok(gopher)
        })
    }

    pub(crate) fn update(&self, gopher: Gopher) -> Result<Gopher, Refusal> {
        self.change(|gophers| match gophers.get_mut(&gopher.id) {
            Some(known) => {
                known.clone_from(&gopher);
                Ok(gopher)
            }
            None => Err(Refusal::Unknown(gopher.id)),
        })
    }

    pub(crate) fn remove(&self, id: &str) -> Result<(), Refusal> {
        self.change(|gophers| match gophers.remove(id) {
            Some(_) => Ok(()),
            None => Err(Refusal::Unknown(id.to_owned())),
        })
    }

    pub(crate) fn clear(&self) {
        self.gophers.send_modify(Gophers::clear);
    }

    /// Tells of every change from now on.
    pub(crate) fn follow(&self) -> watch::Receiver<Gophers> {
        self.gophers.subscribe()
    }

    /// Onlookers hear of it only if it was done.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Gophers) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut outcome = Err(Refusal::Full);
        self.gophers.send_if_modified(|gophers| {
            outcome = change(gophers);
            outcome.is_ok()
        });
        outcome
    }
}
