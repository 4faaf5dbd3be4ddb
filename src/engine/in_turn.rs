//! Work that threads take in turn, and its results in order.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Results of a thread, with the numbers of what they are of.
pub type Results<R> = Vec<(usize, R)>;

/// Results of threads, in the order of their numbers.
pub fn in_order<R>(results: Vec<Results<R>>) -> impl Iterator<Item = R> {
    let mut numbered: Results<R> = results.into_iter().flatten().collect();
    numbered.sort_unstable_by_key(|(n, _)| *n);
    numbered.into_iter().map(|(_, result)| result)
}

/// Results for each of a list, in its order, made `in_hand` at a time; the first error in that order.
pub fn in_turn<T: Sync, R: Send, E: Send>(
    items: &[T],
    in_hand: usize,
    make: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    // One alone stays on the caller's thread, and in its pool.
    if let [only] = items {
        return make(only).map(|result| vec![result]);
    }
    // Threads of their own: one of the pool that waits for the card could take up another's work, which waits for it.
    let results = std::thread::scope(|scope| {
        let begun: Vec<_> = (0..in_hand.min(items.len()))
            .map(|_| {
                scope.spawn(|| {
                    let mut results_of_thread = Results::new();
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        let Some(one) = items.get(n) else {
                            return results_of_thread;
                        };
                        let result = make(one);
                        if result.is_err() {
                            next.store(items.len(), Ordering::Relaxed);
                        }
                        results_of_thread.push((n, result));
                    }
                })
            })
            .collect();
        let ended = begun
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.collect()
    });
    in_order(results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The first of a list take longest.
    fn make(n: &u64) -> Result<u64, u64> {
        std::thread::sleep(Duration::from_millis(20 - n));
        if n % 7 == 6 { Err(*n) } else { Ok(10 * n) }
    }

    /// A new thread would leave the caller's pool, which may be the only one with threads.
    #[test]
    fn one_alone_stays_in_the_pool_of_its_caller() {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .expect("a pool");
        let threads =
            pool.install(|| in_turn(&[()], 4, |()| Ok::<_, ()>(rayon::current_num_threads())));
        assert_eq!(threads, Ok(vec![3]));
    }

    #[test]
    fn results_come_in_their_order_and_the_first_error_is_told() {
        assert_eq!(
            in_turn(&[0, 1, 2, 3, 4, 5], 4, make),
            Ok(vec![0, 10, 20, 30, 40, 50])
        );
        assert_eq!(in_turn(&[], 4, make), Ok(Vec::new()));
        // Both fail, the later one sooner.
        assert_eq!(in_turn(&[0, 6, 13, 1, 2], 4, make), Err(6));
        let calls = AtomicUsize::new(0);
        let long: Vec<u64> = [13].into_iter().chain([1; 100]).collect();
        let result = in_turn(&long, 4, |n| {
            calls.fetch_add(1, Ordering::Relaxed);
            make(n)
        });
        assert_eq!(result, Err(13));
        assert!(calls.into_inner() < 20, "work goes on after an error");
    }
}
