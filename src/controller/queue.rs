//! What has to be looked at, and when.
//!
//! A key is worked on by one worker at a time, however often it was added meanwhile: it is then
//! looked at once more. Work that failed is tried again, later each time.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(2);

/// The longest pause before another look at what is waited for: not all of it is watched.
const SELDOM: Duration = Duration::from_secs(30);

/// What happens next with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing, until something changes.
    Wait,
    /// It is looked at again after this time, if nothing changes before.
    After(Duration),
    /// It failed, and is tried again after a pause that grows.
    Retry,
}

impl Next {
    /// Another look at what is waited for: the later, the longer it has been.
    pub(crate) fn patiently(waited: Duration, first: Duration) -> Self {
        Self::After((waited / 4).clamp(first, SELDOM))
    }
}

/// The end where keys are added.
#[derive(Debug)]
pub(crate) struct Queue<K>(mpsc::UnboundedSender<(K, Duration)>);

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Queue<K> {
    /// Has the key looked at as soon as possible.
    pub(crate) fn add(&self, key: K) {
        self.add_after(key, Duration::ZERO);
    }

    /// Has the key looked at after some time, or earlier if somebody else adds it.
    pub(crate) fn add_after(&self, key: K, pause: Duration) {
        // Nobody listens only when everything stops.
        let _ = self.0.send((key, pause));
    }
}

/// The end where keys are worked on.
#[derive(Debug)]
pub(crate) struct Work<K>(mpsc::UnboundedReceiver<(K, Duration)>);

/// A new queue.
pub(crate) fn queue<K>() -> (Queue<K>, Work<K>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Queue(sender), Work(receiver))
}

impl<K> Work<K>
where
    K: Clone + Ord + Hash + Debug + Send + 'static,
{
    /// Calls `reconcile` for every key, for at most `workers` of them at once, until it is told to
    /// stop. What was begun then is finished.
    pub(crate) async fn run<F, R>(
        mut self,
        workers: usize,
        stop: CancellationToken,
        mut reconcile: F,
    ) where
        F: FnMut(K) -> R,
        R: Future<Output = Next> + Send + 'static,
    {
        let mut due = Due::default();
        let mut running: HashSet<K> = HashSet::new();
        let mut failures: HashMap<K, u32> = HashMap::new();
        let mut tasks: JoinSet<(K, Next)> = JoinSet::new();
        loop {
            while running.len() < workers
                && let Some(key) = due.take(Instant::now(), &running)
            {
                running.insert(key.clone());
                let work = AssertUnwindSafe(reconcile(key.clone())).catch_unwind();
                tasks.spawn(async move {
                    let next = work.await.unwrap_or_else(|_| {
                        tracing::error!(?key, "the work on this key panicked; it is tried again");
                        Next::Retry
                    });
                    (key, next)
                });
            }
            let full = running.len() >= workers;
            let wake = due.first(&running).filter(|_| !full);
            tokio::select! {
                () = stop.cancelled() => break,
                added = self.0.recv() => match added {
                    Some((key, pause)) => due.add(key, Instant::now() + pause),
                    None => break,
                },
                Some(done) = tasks.join_next() => {
                    // Panics are caught above, and nothing aborts a task.
                    let Ok((key, next)) = done else { continue };
                    running.remove(&key);
                    if next != Next::Retry {
                        failures.remove(&key);
                    }
                    match next {
                        Next::Wait => {}
                        Next::After(pause) => due.add(key, Instant::now() + pause),
                        Next::Retry => {
                            let times = failures.entry(key.clone()).or_default();
                            *times = times.saturating_add(1);
                            due.add(key, Instant::now() + pause(*times));
                        }
                    }
                }
                () = until(wake) => {}
            }
        }
        while tasks.join_next().await.is_some() {}
    }
}

fn pause(times: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(times.saturating_sub(1).min(16));
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

async fn until(wake: Option<Instant>) {
    match wake {
        Some(wake) => sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

/// Keys by the time at which they are due. Each is there once, at the earliest time.
#[derive(Debug)]
struct Due<K> {
    times: BTreeSet<(Instant, K)>,
    by_key: HashMap<K, Instant>,
}

impl<K> Default for Due<K> {
    fn default() -> Self {
        Self {
            times: BTreeSet::new(),
            by_key: HashMap::new(),
        }
    }
}

impl<K: Clone + Ord + Hash> Due<K> {
    fn add(&mut self, key: K, time: Instant) {
        if let Some(known) = self.by_key.get(&key) {
            if *known <= time {
                return;
            }
            self.times.remove(&(*known, key.clone()));
        }
        self.by_key.insert(key.clone(), time);
        self.times.insert((time, key));
    }

    /// Takes a key that is due and not being worked on.
    fn take(&mut self, now: Instant, running: &HashSet<K>) -> Option<K> {
        let free = self.times.iter().find(|(_, key)| !running.contains(key));
        let (time, key) = free.filter(|(time, _)| *time <= now)?.clone();
        self.times.remove(&(time, key.clone()));
        self.by_key.remove(&key);
        Some(key)
    }

    /// When the next key that nobody works on is due.
    fn first(&self, running: &HashSet<K>) -> Option<Instant> {
        let mut free = self.times.iter().filter(|(_, key)| !running.contains(key));
        free.next().map(|(time, _)| *time)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use tokio::sync::Notify;

    use super::*;

    #[test]
    fn what_is_waited_for_is_looked_at_the_less_often_the_longer_it_takes() {
        let first = Duration::from_millis(200);
        let after = |seconds| Next::patiently(Duration::from_secs(seconds), first);
        assert_eq!(after(0), Next::After(first));
        assert_eq!(after(40), Next::After(Duration::from_secs(10)));
        assert_eq!(after(86_400), Next::After(SELDOM));
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_added_while_it_is_worked_on_is_looked_at_once_more() {
        let (queue, work) = queue();
        let stop = CancellationToken::new();
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let count = Arc::new(AtomicUsize::new(0));
        let at_once = Arc::new(AtomicUsize::new(0));
        let worker = {
            let (begun, go_on) = (begun.clone(), go_on.clone());
            let (count, at_once) = (count.clone(), at_once.clone());
            tokio::spawn(work.run(4, stop.clone(), move |_: u8| {
                let (begun, go_on) = (begun.clone(), go_on.clone());
                let (count, at_once) = (count.clone(), at_once.clone());
                async move {
                    assert_eq!(at_once.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                    count.fetch_add(1, Ordering::SeqCst);
                    begun.notify_one();
                    go_on.notified().await;
                    at_once.fetch_sub(1, Ordering::SeqCst);
                    Next::Wait
                }
            }))
        };
        queue.add(1);
        begun.notified().await;
        for _ in 0..10 {
            queue.add(1);
        }
        go_on.notify_one();
        begun.notified().await;
        go_on.notify_one();
        // Time only passes when nothing else can happen.
        tokio::time::sleep(Duration::from_mins(10)).await;
        stop.cancel();
        worker.await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_tried_again_later_each_time_and_a_panic_is_one() {
        let (queue, work) = queue();
        let stop = CancellationToken::new();
        let times = Arc::new(Mutex::new(Vec::new()));
        let start = Instant::now();
        let worker = {
            let (times, stop_all) = (times.clone(), stop.clone());
            tokio::spawn(work.run(1, stop.clone(), move |key: &str| {
                times.lock().unwrap().push(start.elapsed());
                let count = times.lock().unwrap().len();
                let stop = stop_all.clone();
                async move {
                    assert_ne!(count, 2, "on purpose: {key} panics");
                    if count == 4 {
                        stop.cancel();
                        return Next::Wait;
                    }
                    Next::Retry
                }
            }))
        };
        queue.add("key");
        worker.await.unwrap();
        let times = times.lock().unwrap();
        let pauses: Vec<Duration> = times
            .windows(2)
            .map(|two| two[1].saturating_sub(two[0]))
            .collect();
        assert_eq!(pauses.len(), 3);
        assert!(pauses[0] >= FIRST_PAUSE);
        assert!(pauses.is_sorted_by(|a, b| a < b), "{pauses:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_time_counts() {
        let (queue, work) = queue();
        let stop = CancellationToken::new();
        let start = Instant::now();
        let worker = {
            let stop_all = stop.clone();
            tokio::spawn(work.run(1, stop, move |_: u8| {
                assert!(start.elapsed() < Duration::from_mins(1));
                stop_all.cancel();
                async { Next::Wait }
            }))
        };
        queue.add_after(1, Duration::from_hours(1));
        queue.add_after(1, Duration::from_secs(1));
        queue.add_after(1, Duration::from_hours(2));
        worker.await.unwrap();
    }

    #[test]
    fn pauses_end_at_the_longest() {
        assert_eq!(pause(1), FIRST_PAUSE);
        assert_eq!(pause(2), 2 * FIRST_PAUSE);
        assert_eq!(pause(40), LONGEST_PAUSE);
    }
}
