//! The worker without a window.

use super::*;
use engine::{Cancelled, JobControl};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Timeout of a hanging test; none waits this long.
const PATIENCE: Duration = Duration::from_secs(60);

fn worker() -> (Worker<u32, u32>, Arc<AtomicUsize>) {
    worker_with(0)
}

fn worker_with(helpers: usize) -> (Worker<u32, u32>, Arc<AtomicUsize>) {
    let notified = Arc::new(AtomicUsize::new(0));
    let counter = notified.clone();
    (
        Worker::with_helpers(
            helpers,
            Arc::new(move || {
                counter.fetch_add(1, Ordering::SeqCst);
            }),
        )
        .unwrap(),
        notified,
    )
}

/// Collects all events until no job is left.
fn settle(worker: &Worker<u32, u32>) -> Vec<Report<u32, u32>> {
    let begin = Instant::now();
    while worker.live_jobs() > 0 {
        assert!(begin.elapsed() < PATIENCE, "the jobs do not end");
        std::thread::sleep(Duration::from_millis(1));
    }
    worker.drain()
}

fn last_event(reports: &[Report<u32, u32>], job: JobId) -> &JobEvent<u32> {
    let last: Vec<_> = reports
        .iter()
        .filter(|r| r.job == job && r.event.is_last())
        .collect();
    assert_eq!(last.len(), 1, "job {job} has one end: {last:?}");
    &last[0].event
}

/// All answers in order, previews and full ones.
fn answers(reports: &[Report<u32, u32>]) -> Vec<u32> {
    reports
        .iter()
        .filter_map(|r: &Report<u32, u32>| match r.event {
            JobEvent::Partial(value) | JobEvent::Done(value, _) => Some(value),
            _ => None,
        })
        .collect()
}

fn task(value: u32) -> Task<u32> {
    Task::new(format!("task {value}"), move |_: &JobControl| {
        Ok::<_, String>(value)
    })
}

/// Runs until cancelled.
fn endless(started: mpsc::Sender<()>) -> Task<u32> {
    Task::new(
        "endless",
        move |control: &JobControl| -> Result<u32, Cancelled> {
            let _ = started.send(());
            loop {
                control.check()?;
                std::thread::sleep(Duration::from_micros(200));
            }
        },
    )
}

#[test]
fn of_a_hundred_previews_the_first_and_the_last_are_answered() {
    let (worker, _) = worker();
    let held = Arc::new(());
    let (started, first_runs) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let mut gate = Some((started, gate));
    let mut jobs = Vec::new();
    for n in 0..100 {
        let (a, b) = (held.clone(), held.clone());
        let first = gate.take();
        let is_first = first.is_some();
        let preview = worker.submit(
            0,
            Task::new("preview", move |_: &JobControl| {
                if let Some((started, gate)) = first {
                    started.send(()).unwrap();
                    gate.recv().unwrap();
                }
                drop(a);
                Ok::<_, String>(n)
            })
            .quick()
            .on(Lane::Device),
        );
        if is_first {
            first_runs.recv_timeout(PATIENCE).unwrap();
        }
        jobs.push((
            preview,
            worker.submit(
                1,
                Task::new("dose", move |_: &JobControl| {
                    drop(b);
                    Ok::<_, String>(1000 + n)
                })
                .on(Lane::Device),
            ),
        ));
    }
    go.send(()).unwrap();
    let reports = settle(&worker);
    let done: Vec<_> = reports
        .iter()
        .filter_map(|r: &Report<u32, u32>| match r.event {
            JobEvent::Done(value, _) => Some((r.job, value, r.superseded)),
            _ => None,
        })
        .collect();
    assert_eq!(
        done,
        [
            (jobs[0].0, 0, true),
            (jobs[99].0, 99, false),
            (jobs[99].1, 1099, false)
        ]
    );
    for (preview, full) in &jobs[1..99] {
        assert!(
            [preview, full]
                .iter()
                .all(|job| matches!(last_event(&reports, **job), JobEvent::Cancelled))
        );
    }
    assert_eq!(worker.live_jobs(), 0);
    assert_eq!(Arc::strong_count(&held), 1, "a dropped job keeps nothing");
}

/// A job that the case has left stops, unless it is quick: then its answer is shown until the next one.
#[test]
fn a_superseded_job_stops_unless_it_is_quick() {
    let (worker, _) = worker();
    let (started, runs) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let begun = started.clone();
    let quick = Task::new("quick", move |_: &JobControl| {
        begun.send(()).unwrap();
        gate.recv().unwrap();
        Ok::<_, String>(7)
    });
    let spared = worker.submit(0, quick.quick());
    runs.recv_timeout(PATIENCE).unwrap();
    let waiting = worker.submit(1, task(8).quick());
    worker.supersede(0);
    worker.supersede(1);
    go.send(()).unwrap();
    let reports = settle(&worker);
    assert!(matches!(last_event(&reports, spared), JobEvent::Done(7, _)));
    assert!(matches!(last_event(&reports, waiting), JobEvent::Cancelled));
    let long = worker.submit(2, endless(started));
    runs.recv_timeout(PATIENCE).unwrap();
    worker.supersede(2);
    assert!(matches!(
        last_event(&settle(&worker), long),
        JobEvent::Cancelled
    ));
}

#[test]
fn a_running_job_stops_when_a_newer_one_comes() {
    let (worker, _) = worker();
    let (started, runs) = mpsc::channel();
    let old = worker.submit(1, endless(started));
    runs.recv_timeout(PATIENCE).unwrap();
    let new = worker.submit(1, task(7));
    let reports = settle(&worker);
    assert!(matches!(last_event(&reports, old), JobEvent::Cancelled));
    assert!(matches!(last_event(&reports, new), JobEvent::Done(7, _)));
}

#[test]
fn cancel_stops_a_preview_too() {
    let (worker, _) = worker();
    let (started, runs) = mpsc::channel();
    let job = worker.submit(
        2,
        Task::new("preview", move |control: &JobControl| {
            let _ = started.send(());
            while !control.is_cancelled() {
                std::thread::yield_now();
            }
            Err::<u32, _>("stopped")
        })
        .quick(),
    );
    runs.recv_timeout(PATIENCE).unwrap();
    worker.cancel(2);
    assert!(matches!(
        last_event(&settle(&worker), job),
        JobEvent::Cancelled
    ));
}

#[test]
fn a_panic_and_an_error_are_failures_and_the_next_job_runs() {
    let (worker, _) = worker();
    let panics: fn(&JobControl) -> Result<u32, String> = |_| panic!("index 7 of 3");
    let a = worker.submit(0, Task::new("opening X", panics));
    let b = worker.submit(
        3,
        Task::new("masks of Y", |_: &JobControl| {
            Err::<u32, _>("no such folder")
        }),
    );
    let c = worker.submit(1, task(3));
    let reports = settle(&worker);
    let message = |job| match last_event(&reports, job) {
        JobEvent::Failed { message } => message.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        message(a),
        "opening X: the program made a mistake: index 7 of 3"
    );
    assert_eq!(message(b), "masks of Y: no such folder");
    assert!(matches!(last_event(&reports, c), JobEvent::Done(3, _)));
}

#[test]
fn progress_never_falls_and_is_not_a_flood() {
    let (worker, notified) = worker();
    worker.submit(
        1,
        Task::new("counting", |control: &JobControl| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..=5000).for_each(|n| control.report(n as f32 / 5000.0)));
                }
            });
            Ok::<_, String>(0)
        }),
    );
    let reports = settle(&worker);
    let shares: Vec<f32> = reports
        .iter()
        .filter_map(|r| {
            if let JobEvent::Progress(share) = r.event {
                Some(share)
            } else {
                None
            }
        })
        .collect();
    assert!(
        shares.len() > 1 && shares.len() <= 101,
        "{} reports",
        shares.len()
    );
    assert!(shares.windows(2).all(|w| w[1] > w[0]), "{shares:?}");
    assert_eq!(
        notified.load(Ordering::SeqCst),
        1,
        "one call for all reports between two drains"
    );
    worker.submit(1, task(1));
    settle(&worker);
    assert_eq!(notified.load(Ordering::SeqCst), 2);
}

#[test]
fn a_long_device_job_does_not_hold_up_the_host_lane() {
    let (worker, _) = worker();
    let (started, runs) = mpsc::channel();
    let long = worker.submit(2, endless(started).on(Lane::Device));
    runs.recv_timeout(PATIENCE).unwrap();
    let (sender, answered) = mpsc::channel();
    worker.submit(
        0,
        Task::new("open", move |_: &JobControl| {
            sender.send(()).map(|()| 1).map_err(|e| e.to_string())
        }),
    );
    answered
        .recv_timeout(PATIENCE)
        .expect("the host lane answers meanwhile");
    worker.cancel(2);
    assert!(matches!(
        last_event(&settle(&worker), long),
        JobEvent::Cancelled
    ));
}

#[test]
fn previews_of_all_slots_come_before_the_first_full_answer() {
    let (worker, _) = worker();
    let (go, gate) = mpsc::channel::<()>();
    let (started, runs) = mpsc::channel();
    worker.submit(
        3,
        Task::new("holds the lane", move |_: &JobControl| {
            let _ = started.send(());
            gate.recv().map(|()| 0)
        }),
    );
    runs.recv_timeout(PATIENCE).unwrap();
    for beam in 0..3 {
        worker.submit(10 + beam, task(10 + beam));
        worker.submit(20 + beam, task(beam).quick());
    }
    go.send(()).unwrap();
    assert_eq!(answers(&settle(&worker)), [0, 0, 1, 2, 10, 11, 12]);
}

#[test]
fn restartable_work_makes_way_for_quick_work() {
    let (worker, _) = worker();
    let (started, runs) = mpsc::channel();
    let begun = AtomicUsize::new(0);
    // The first run waits for its cancellation, the second one answers.
    let work = move |control: &JobControl| -> Result<u32, Cancelled> {
        let earlier = begun.fetch_add(1, Ordering::SeqCst);
        control.report(0.5);
        let _ = started.send(());
        if earlier > 0 {
            return Ok(2);
        }
        loop {
            control.check()?;
            std::thread::yield_now();
        }
    };
    let other = worker.submit(0, Task::restartable("other beam", work));
    runs.recv_timeout(PATIENCE).unwrap();
    worker.submit(1, task(1).quick());
    worker.submit(2, task(3));
    let reports = settle(&worker);
    assert_eq!(answers(&reports), [1, 2, 3]);
    let of_other = || reports.iter().filter(|r| r.job == other);
    assert_eq!(
        of_other()
            .filter(|r| matches!(r.event, JobEvent::Started))
            .count(),
        1
    );
    let shares: Vec<f32> = of_other()
        .filter_map(|r| {
            if let JobEvent::Progress(share) = r.event {
                Some(share)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        shares,
        [0.5, 0.0, 0.5],
        "what was done before is done again"
    );
    assert_eq!(of_other().filter(|r| r.event.is_last()).count(), 1);
}

#[test]
fn dropping_the_worker_stops_what_runs_and_frees_what_waits() {
    let (worker, _) = worker();
    let held = Arc::new(());
    let (started, runs) = mpsc::channel();
    worker.submit(0, endless(started));
    runs.recv_timeout(PATIENCE).unwrap();
    let keep = held.clone();
    worker.submit(
        1,
        Task::new("waits", move |_: &JobControl| {
            Ok::<_, String>(Arc::strong_count(&keep) as u32)
        }),
    );
    let (dropped, ends) = mpsc::channel();
    std::thread::spawn(move || {
        drop(worker);
        dropped.send(())
    });
    ends.recv_timeout(PATIENCE).expect("what runs is stopped");
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_refining_task_answers_on_the_way() {
    let (worker, _) = worker();
    let task = Task::refining("refining", |_: &JobControl, partial: &mut dyn FnMut(u8)| {
        (1..4).for_each(&mut *partial);
        Ok::<_, String>(4)
    });
    let job = worker.submit(4, task.map(u32::from).on(Lane::Device));
    let reports = settle(&worker);
    assert_eq!(answers(&reports), [1, 2, 3, 4]);
    assert!(matches!(last_event(&reports, job), JobEvent::Done(4, _)));
}

#[test]
fn quick_work_goes_first_and_is_let_finish() {
    let (worker, _) = worker();
    let (started, runs) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    // The lane is busy while the other jobs are queued.
    worker.submit(
        2,
        Task::new("gate", move |_: &JobControl| {
            started.send(()).unwrap();
            gate.recv().unwrap();
            Ok::<_, String>(0)
        }),
    );
    runs.recv_timeout(PATIENCE).unwrap();
    worker.submit(4, task(1));
    worker.submit(5, task(2).quick());
    go.send(()).unwrap();
    assert_eq!(answers(&settle(&worker)), [0, 2, 1]);
    // A newer job of the slot does not cancel it.
    let (started, runs) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let held = Task::new("held", move |control: &JobControl| {
        started.send(()).unwrap();
        gate.recv().unwrap();
        control.check().map(|()| 3)
    });
    worker.submit(5, held.quick());
    runs.recv_timeout(PATIENCE).unwrap();
    worker.submit(5, task(4).quick());
    go.send(()).unwrap();
    assert_eq!(answers(&settle(&worker)), [3, 4]);
}

#[test]
fn the_jobs_of_a_worker_share_one_cache() {
    let slot_values = || {
        let (worker, _) = worker();
        let (send, received) = mpsc::channel();
        for (slot, lane) in [(1, Lane::Host), (2, Lane::Device)] {
            let send = send.clone();
            worker.submit(
                slot,
                Task::new("look", move |control: &JobControl| {
                    send.send(std::ptr::from_ref(control.cache()) as usize)
                        .map(|()| 0)
                })
                .on(lane),
            );
        }
        settle(&worker);
        let [first, second] = [received.recv().unwrap(), received.recv().unwrap()];
        assert_eq!(first, second);
        (worker, first)
    };
    let ((_one, a), (_other, b)) = (slot_values(), slot_values());
    assert_ne!(a, b, "another worker has another");
}

/// A task that says when it runs and ends when it may.
fn gated(value: u32, started: &mpsc::Sender<u32>) -> (Task<u32>, mpsc::Sender<()>) {
    let (go, gate) = mpsc::channel::<()>();
    let started = started.clone();
    (
        Task::new(format!("task {value}"), move |_: &JobControl| {
            started.send(value).unwrap();
            gate.recv().unwrap();
            Ok::<_, String>(value)
        }),
        go,
    )
}

/// A frame for each piece of what follows a drag would take a processor from the rest of it.
#[test]
fn quick_answers_are_told_together() {
    let (worker, notified) = worker();
    let (started, runs) = mpsc::channel();
    let (first, go_on) = gated(1, &started);
    let (second, end) = gated(2, &started);
    worker.submit(1, first.quick().on(Lane::Device));
    worker.submit(2, second.quick().on(Lane::Device));
    assert_eq!(runs.recv_timeout(PATIENCE), Ok(1));
    go_on.send(()).unwrap();
    assert_eq!(runs.recv_timeout(PATIENCE), Ok(2), "the first has ended");
    assert_eq!(notified.load(Ordering::SeqCst), 0);
    end.send(()).unwrap();
    // A drain before it would leave nothing to tell.
    let begin = Instant::now();
    while notified.load(Ordering::SeqCst) == 0 {
        assert!(begin.elapsed() < PATIENCE, "nothing is told");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(answers(&settle(&worker)), [1, 2]);
    assert_eq!(notified.load(Ordering::SeqCst), 1);
}

/// A drag whose sum lasts: the next beam is requested once the first is there, and replaces neither the sum nor the report of it.
#[test]
fn a_wave_of_quick_jobs_queues_behind_the_one_before() {
    const BEAM: u32 = 1;
    const SUM: u32 = 2;
    let (worker, notified) = worker();
    let (started, runs) = mpsc::channel();
    let (tasks, gates): (Vec<_>, Vec<_>) = (1..=4).map(|n| gated(n, &started)).unzip();
    let [beam, sum, next_beam, next_sum] =
        <[Task<u32>; 4]>::try_from(tasks).unwrap_or_else(|_| unreachable!());
    let begin_wave = || worker.begin_wave(|slot| slot == BEAM);
    assert!(begin_wave(), "nothing is under way");
    worker.submit(BEAM, beam.quick().on(Lane::Device));
    worker.submit(SUM, sum.quick().on(Lane::Device));
    assert_eq!(runs.recv_timeout(PATIENCE), Ok(1));
    assert!(!begin_wave(), "the beam comes first");
    gates[0].send(()).unwrap();
    assert_eq!(runs.recv_timeout(PATIENCE), Ok(2));
    assert!(begin_wave());
    worker.submit(BEAM, next_beam.quick().behind().on(Lane::Device));
    worker.submit(SUM, next_sum.quick().behind().on(Lane::Device));
    assert!(!begin_wave(), "two waves are enough");
    let begin = Instant::now();
    gates[1].send(()).unwrap();
    assert_eq!(runs.recv_timeout(PATIENCE), Ok(3));
    while notified.load(Ordering::SeqCst) == 0 {
        assert!(
            begin.elapsed() < PATIENCE,
            "the first wave is not told while the second runs"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(answers(&worker.drain()), [1, 2]);
    assert!(!begin_wave(), "its beam runs");
    gates[2..].iter().for_each(|gate| gate.send(()).unwrap());
    assert_eq!(answers(&settle(&worker)), [3, 4]);
}

/// A slot that is cancelled or superseded leaves no job of any wave.
#[test]
fn a_cancelled_slot_leaves_no_wave() {
    let (worker, _) = worker();
    let (started, runs) = mpsc::channel();
    let (busy, end) = gated(1, &started);
    worker.submit(9, busy.on(Lane::Device));
    assert_eq!(runs.recv_timeout(PATIENCE), Ok(1));
    let two_waves = |slot| {
        let first = worker.submit(slot, task(2).quick().on(Lane::Device));
        assert!(worker.begin_wave(|_| false));
        [
            first,
            worker.submit(slot, task(3).quick().behind().on(Lane::Device)),
        ]
    };
    let cancelled = two_waves(5);
    worker.cancel(5);
    assert_eq!(worker.live_jobs(), 1);
    // A job that does not queue behind them replaces both.
    let replaced = two_waves(6);
    worker.submit(6, task(4).quick().on(Lane::Device));
    end.send(()).unwrap();
    let reports = settle(&worker);
    let gone = cancelled.into_iter().chain(replaced);
    assert!(
        gone.into_iter()
            .all(|job| matches!(last_event(&reports, job), JobEvent::Cancelled))
    );
    assert_eq!(answers(&reports), [1, 4]);
}

/// Jobs that may run side by side do, once what came before them in their lane has ended.
#[test]
fn helpers_take_what_runs_side_by_side() {
    let (worker, _) = worker_with(2);
    let (started, runs) = mpsc::channel();
    let (tasks, gates): (Vec<_>, Vec<_>) = (1..=5).map(|n| gated(n, &started)).unzip();
    let [sum, a, b, c, other] =
        <[Task<u32>; 5]>::try_from(tasks).unwrap_or_else(|_| unreachable!());
    worker.submit(1, sum.quick().on(Lane::Device));
    for (slot, task) in [(2, a), (3, b), (4, c)] {
        worker.submit(slot, task.quick().side_by_side().on(Lane::Device));
    }
    worker.submit(5, other.quick().on(Lane::Device));
    assert_eq!(runs.recv_timeout(PATIENCE), Ok(1));
    assert!(
        runs.recv_timeout(Duration::from_millis(20)).is_err(),
        "they wait for the sum"
    );
    gates[0].send(()).unwrap();
    let mut side_by_side = [0; 3].map(|_| runs.recv_timeout(PATIENCE).unwrap());
    side_by_side.sort_unstable();
    assert_eq!(side_by_side, [2, 3, 4]);
    assert!(
        runs.recv_timeout(Duration::from_millis(20)).is_err(),
        "the lane's own thread is busy, helpers take no other"
    );
    gates[1..].iter().for_each(|gate| gate.send(()).unwrap());
    assert_eq!(answers(&settle(&worker)).len(), 5);
}

/// Else the older one could end last, and be taken for the newer.
#[test]
fn jobs_of_a_slot_never_run_at_once() {
    let (worker, _) = worker_with(2);
    let (started, runs) = mpsc::channel();
    let (old, end_old) = gated(1, &started);
    let (new, end_new) = gated(2, &started);
    worker.submit(7, old.quick().side_by_side());
    assert_eq!(runs.recv_timeout(PATIENCE), Ok(1));
    worker.submit(7, new.quick().side_by_side());
    assert!(
        runs.recv_timeout(Duration::from_millis(20)).is_err(),
        "the older one runs"
    );
    end_old.send(()).unwrap();
    assert_eq!(runs.recv_timeout(PATIENCE), Ok(2));
    end_new.send(()).unwrap();
    assert_eq!(answers(&settle(&worker)), [1, 2]);
}
