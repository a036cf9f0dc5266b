//! Bundles that are being fetched.
//!
//! A registry may take its time, and the other Subscriptions of a namespace do not wait for it:
//! whoever needs bundles asks, is told how far they are, and is woken when that changes. What failed
//! is tried again after a pause that grows, whatever else happens meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::bundles::Problem;
use crate::plan::BundleInput;

/// What is here by then was never missing: nobody is told that it is on its way.
const MOMENT: Duration = Duration::from_secs(1);

/// The moment that somebody has who asks for several things, for all of them together.
#[derive(Debug, Default)]
pub(crate) struct Moment(OnceLock<Instant>);

impl Moment {
    /// When it is over. It begins with the first thing that has to be waited for.
    fn end(&self) -> Instant {
        *self.0.get_or_init(|| Instant::now() + MOMENT)
    }
}
/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause that is of our own making.
const LONGEST_PAUSE: Duration = Duration::from_mins(2);

/// Bundles by name.
pub(crate) type Bundles = BTreeMap<String, BundleInput>;

/// The bundles of one plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order {
    /// The namespace of the plan.
    pub(crate) namespace: String,
    /// What tells it from other plans.
    pub(crate) plan: String,
}

/// How far bundles are.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// They are here.
    Here(Arc<Bundles>),
    /// They are on their way. What was wrong the last time, if something was: to say in turns that it
    /// is and that it may not be helps nobody.
    Underway { before: Option<Problem> },
    /// They cannot be had. The next attempt begins after this time, when somebody asks.
    Stuck { problem: Problem, pause: Duration },
}

/// Everything that is being fetched, and what was fetched for plans that are not there yet.
#[derive(Debug, Default)]
pub(crate) struct Fetches(Mutex<BTreeMap<Order, Fetch>>);

#[derive(Debug, Default)]
struct Fetch {
    here: Option<Arc<Bundles>>,
    task: Option<Task>,
    failures: u32,
    /// When the last attempt ended, and what was wrong.
    last: Option<(Instant, Problem)>,
}

impl Fetch {
    fn fail(&mut self, problem: Problem) {
        self.failures = self.failures.saturating_add(1);
        self.last = Some((Instant::now(), problem));
    }

    /// What the last attempt ended with, and how long it is until the next one.
    fn stuck(&self, shortest: Duration) -> Option<(Problem, Duration)> {
        let (since, problem) = self.last.as_ref()?;
        let doubled = 2_u32.saturating_pow(self.failures.saturating_sub(1));
        let pause = FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE);
        let rest = pause.max(shortest).saturating_sub(since.elapsed());
        Some((problem.clone(), rest))
    }
}

impl Fetch {
    async fn ask<F>(
        &mut self,
        limit: Option<Duration>,
        shortest: Duration,
        moment: &Moment,
        fetch: impl FnOnce() -> F,
        wake: impl FnOnce() + Send + 'static,
    ) -> Arrival
    where
        F: Future<Output = Result<Bundles, Problem>> + Send + 'static,
    {
        if let Some(here) = &self.here {
            return Arrival::Here(here.clone());
        }
        let underway = self.task.take();
        // Somebody thought better of how long it may take, perhaps because it takes too long.
        if let Some(task) = underway.as_ref().filter(|task| task.limit != limit) {
            task.handle.abort();
        }
        let mut task = match underway.filter(|task| task.limit == limit) {
            // Whoever waited for it once is woken, and need not wait again.
            Some(task) if !task.handle.is_finished() => return self.goes_on(task),
            Some(task) => task,
            None => match self.stuck(shortest) {
                Some((problem, pause)) if !pause.is_zero() => {
                    return Arrival::Stuck { problem, pause };
                }
                _ => Task::spawn(limit, fetch(), wake),
            },
        };
        match task.wait(moment).await {
            None => self.goes_on(task),
            Some(Ok(bundles)) => {
                let here = Arc::new(bundles);
                self.here = Some(here.clone());
                Arrival::Here(here)
            }
            Some(Err(problem)) => {
                self.fail(problem.clone());
                let pause = self.stuck(shortest).map_or(FIRST_PAUSE, |(_, pause)| pause);
                Arrival::Stuck { problem, pause }
            }
        }
    }

    fn goes_on(&mut self, task: Task) -> Arrival {
        self.task = Some(task);
        let before = self.last.as_ref().map(|(_, problem)| problem.clone());
        Arrival::Underway { before }
    }
}

/// A fetch under way, which wakes whoever went away meanwhile.
#[derive(Debug)]
struct Task {
    /// How long it may take, as it was told when it began.
    limit: Option<Duration>,
    handle: JoinHandle<Result<Bundles, Problem>>,
    state: Arc<AtomicU8>,
}

const AWAITED: u8 = 0;
const LEFT: u8 = 1;
const ENDED: u8 = 2;

impl Task {
    fn spawn(
        limit: Option<Duration>,
        fetch: impl Future<Output = Result<Bundles, Problem>> + Send + 'static,
        wake: impl FnOnce() + Send + 'static,
    ) -> Self {
        let state = Arc::new(AtomicU8::new(AWAITED));
        let of = state.clone();
        let handle = tokio::spawn(async move {
            let fetched = fetch.await;
            if of.swap(ENDED, Ordering::AcqRel) == LEFT {
                wake();
            }
            fetched
        });
        Self {
            limit,
            handle,
            state,
        }
    }

    /// What came of it, or nothing if that takes longer than the moment.
    async fn wait(&mut self, moment: &Moment) -> Option<Result<Bundles, Problem>> {
        let ended = match timeout_at(moment.end(), &mut self.handle).await {
            Ok(ended) => ended,
            Err(_) if self.state.swap(LEFT, Ordering::AcqRel) == ENDED => (&mut self.handle).await,
            Err(_) => return None,
        };
        Some(ended.unwrap_or_else(|error| Err(Problem::Failed(error.to_string()))))
    }
}

impl Fetches {
    /// How far the bundles of a plan are. If nobody is at it, and it is time, `fetch` is begun; `wake`
    /// is called when it ends after this did. `limit` is how long `fetch` takes at the longest; with another
    /// one it is begun anew. `shortest` is the shortest pause between two attempts. What was just begun is
    /// waited for until the `moment` is over. For each order, one asks at a time.
    pub(crate) async fn ask<F>(
        &self,
        order: &Order,
        limit: Option<Duration>,
        shortest: Duration,
        moment: &Moment,
        fetch: impl FnOnce() -> F,
        wake: impl FnOnce() + Send + 'static,
    ) -> Arrival
    where
        F: Future<Output = Result<Bundles, Problem>> + Send + 'static,
    {
        let mut known = self.lock(|all| all.remove(order)).unwrap_or_default();
        let arrival = known.ask(limit, shortest, moment, fetch, wake).await;
        self.lock(|all| all.insert(order.clone(), known));
        arrival
    }

    /// Lets go of what came and is of no use, which may be large. It is fetched again as if it had not come.
    pub(crate) fn refuse(&self, order: &Order, problem: Problem) {
        self.lock(|all| {
            if let Some(fetch) = all.get_mut(order) {
                fetch.here = None;
                fetch.fail(problem);
            }
        });
    }

    /// Gives up what is fetched for a namespace and not among these plans.
    pub(crate) fn keep_only(&self, namespace: &str, plans: &BTreeSet<String>) {
        self.keep(|order| order.namespace != namespace || plans.contains(&order.plan));
    }

    /// Gives up what is not wanted any more.
    pub(crate) fn keep(&self, is_wanted: impl Fn(&Order) -> bool) {
        self.lock(|all| {
            all.retain(|order, fetch| {
                let is_wanted = is_wanted(order);
                if let Some(task) = fetch.task.as_ref().filter(|_| !is_wanted) {
                    task.handle.abort();
                }
                is_wanted
            });
        });
    }

    fn lock<T>(&self, change: impl FnOnce(&mut BTreeMap<Order, Fetch>) -> T) -> T {
        // Whoever panicked with the lock held left a whole map: changes are single calls.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::Notify;

    use super::*;

    fn order() -> Order {
        Order {
            namespace: "port".into(),
            plan: "a".into(),
        }
    }

    async fn ask<F>(fetches: &Fetches, shortest: Duration, fetch: impl FnOnce() -> F) -> Arrival
    where
        F: Future<Output = Result<Bundles, Problem>> + Send + 'static,
    {
        let (limit, moment) = (Some(Duration::from_mins(10)), Moment::default());
        let order = order();
        let asked = fetches.ask(&order, limit, shortest, &moment, fetch, || {});
        asked.await
    }

    async fn fine() -> Result<Bundles, Problem> {
        Ok(Bundles::new())
    }

    async fn refused() -> Result<Bundles, Problem> {
        Err(Problem::Failed("refused".into()))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_here_at_once_is_had_at_once() {
        let fetches = Fetches::default();
        let arrival = ask(&fetches, Duration::ZERO, fine).await;
        assert!(matches!(arrival, Arrival::Here(_)), "{arrival:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_longer_is_underway_and_begun_only_once() {
        let fetches = Fetches::default();
        let begun = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(Notify::new());
        for _ in 0..3 {
            let (begun, gate) = (begun.clone(), gate.clone());
            let slow = || async move {
                begun.fetch_add(1, Ordering::SeqCst);
                gate.notified().await;
                Ok(Bundles::new())
            };
            let arrival = ask(&fetches, Duration::ZERO, slow).await;
            assert!(
                matches!(arrival, Arrival::Underway { before: None }),
                "{arrival:?}"
            );
        }
        assert_eq!(begun.load(Ordering::SeqCst), 1);
        gate.notify_one();
        // Time only passes when nothing else can happen.
        tokio::time::sleep(MOMENT).await;
        let arrival = ask(&fetches, Duration::ZERO, refused).await;
        assert!(matches!(arrival, Arrival::Here(_)), "{arrival:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_asks_for_many_things_waits_one_moment_for_all_and_none_the_next_time() {
        let fetches = Fetches::default();
        let never = std::future::pending::<Result<Bundles, Problem>>;
        let ask_for_all = async || {
            let (begun, moment) = (Instant::now(), Moment::default());
            for plan in 0..20 {
                let order = Order {
                    plan: plan.to_string(),
                    ..order()
                };
                let asked = fetches.ask(&order, None, Duration::ZERO, &moment, never, || {});
                let arrival = asked.await;
                assert!(matches!(arrival, Arrival::Underway { .. }), "{arrival:?}");
            }
            begun.elapsed()
        };
        // Timers go by milliseconds.
        let a_bit_more = MOMENT + Duration::from_millis(50);
        let first = ask_for_all().await;
        assert!((MOMENT..a_bit_more).contains(&first), "{first:?}");
        assert_eq!(ask_for_all().await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_is_tried_again_after_its_pause_and_not_before() {
        let fetches = Fetches::default();
        let shortest = Duration::from_mins(5);
        let arrival = ask(&fetches, shortest, refused).await;
        assert!(
            matches!(&arrival, Arrival::Stuck { problem: Problem::Failed(why), pause }
                if why == "refused" && *pause == shortest),
            "{arrival:?}"
        );
        let arrival = ask(&fetches, shortest, fine).await;
        assert!(matches!(arrival, Arrival::Stuck { .. }), "{arrival:?}");
        tokio::time::advance(shortest).await;
        let arrival = ask(&fetches, shortest, fine).await;
        assert!(matches!(arrival, Arrival::Here(_)), "{arrival:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_here_stays_until_nobody_wants_it() {
        let fetches = Fetches::default();
        for _ in 0..2 {
            ask(&fetches, Duration::ZERO, fine).await;
        }
        let arrival = ask(&fetches, Duration::ZERO, refused).await;
        assert!(matches!(arrival, Arrival::Here(_)), "{arrival:?}");
        fetches.keep_only("port", &BTreeSet::new());
        let arrival = ask(&fetches, Duration::ZERO, refused).await;
        assert!(matches!(arrival, Arrival::Stuck { .. }), "{arrival:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_of_no_use_is_not_kept_and_fetched_again_after_its_pause() {
        let fetches = Fetches::default();
        let arrival = ask(&fetches, Duration::ZERO, fine).await;
        let Arrival::Here(bundles) = arrival else {
            panic!("{arrival:?}");
        };
        fetches.refuse(&order(), Problem::Unusable("too large".into()));
        assert_eq!(Arc::strong_count(&bundles), 1, "somebody keeps them");
        let arrival = ask(&fetches, Duration::ZERO, fine).await;
        assert!(
            matches!(&arrival, Arrival::Stuck { problem: Problem::Unusable(why), pause }
                if why == "too large" && *pause == FIRST_PAUSE),
            "{arrival:?}"
        );
        tokio::time::advance(FIRST_PAUSE).await;
        let arrival = ask(&fetches, Duration::ZERO, fine).await;
        assert!(matches!(arrival, Arrival::Here(_)), "{arrival:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_went_away_is_woken() {
        let fetches = Fetches::default();
        let woken = Arc::new(AtomicUsize::new(0));
        let wake = || {
            let woken = woken.clone();
            move || {
                woken.fetch_add(1, Ordering::SeqCst);
            }
        };
        let none = Duration::ZERO;
        fetches
            .ask(&order(), None, none, &Moment::default(), refused, wake())
            .await;
        assert_eq!(woken.load(Ordering::SeqCst), 0);
        tokio::time::advance(LONGEST_PAUSE).await;
        let slow = || async {
            tokio::time::sleep(MOMENT * 2).await;
            Ok(Bundles::new())
        };
        let arrival = fetches
            .ask(&order(), None, none, &Moment::default(), slow, wake())
            .await;
        // What was wrong before is told until it is known to be over.
        assert!(
            matches!(arrival, Arrival::Underway { before: Some(_) }),
            "{arrival:?}"
        );
        tokio::time::sleep(MOMENT * 2).await;
        assert_eq!(woken.load(Ordering::SeqCst), 1);
        let arrival = fetches
            .ask(&order(), None, none, &Moment::default(), refused, wake())
            .await;
        assert!(matches!(arrival, Arrival::Here(_)), "{arrival:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_changes_how_long_it_may_take_is_not_kept_waiting_by_what_began_before() {
        let fetches = Fetches::default();
        let never = std::future::pending::<Result<Bundles, Problem>>;
        let arrival = ask(&fetches, Duration::ZERO, never).await;
        assert!(matches!(arrival, Arrival::Underway { .. }), "{arrival:?}");
        let limit = Some(Duration::from_secs(2));
        let (order, moment) = (order(), Moment::default());
        let changed = fetches.ask(&order, limit, Duration::ZERO, &moment, fine, || {});
        let arrival = changed.await;
        assert!(matches!(arrival, Arrival::Here(_)), "{arrival:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow() {
        let fetches = Fetches::default();
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let Arrival::Stuck { pause, .. } = ask(&fetches, Duration::ZERO, refused).await else {
                panic!("it does not fail");
            };
            pauses.push(pause);
            tokio::time::advance(pause).await;
        }
        assert_eq!(pauses[..3], [200, 400, 800].map(Duration::from_millis));
        assert_eq!(pauses.last(), Some(&LONGEST_PAUSE));
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_wants_is_given_up() {
        let fetches = Fetches::default();
        let dropped = Arc::new(Notify::new());
        let guard = {
            let dropped = dropped.clone();
            scopeguard(move || dropped.notify_one())
        };
        let never = || async move {
            let _guard = guard;
            std::future::pending().await
        };
        ask(&fetches, Duration::ZERO, never).await;
        fetches.keep_only("elsewhere", &BTreeSet::new());
        fetches.keep_only("port", &BTreeSet::from(["a".to_owned()]));
        let arrival = ask(&fetches, Duration::ZERO, fine).await;
        assert!(matches!(arrival, Arrival::Underway { .. }), "{arrival:?}");
        fetches.keep_only("port", &BTreeSet::new());
        dropped.notified().await;
        let arrival = ask(&fetches, Duration::ZERO, fine).await;
        assert!(matches!(arrival, Arrival::Here(_)), "{arrival:?}");
    }

    struct Guard<F: FnMut()>(F);

    impl<F: FnMut()> Drop for Guard<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }

    fn scopeguard<F: FnMut()>(last: F) -> Guard<F> {
        Guard(last)
    }
}
