//! Temporary.
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;
static TIMES: Mutex<BTreeMap<String, (Vec<f64>, i64)>> = Mutex::new(BTreeMap::new());
fn faults() -> i64 {
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_minflt
}
pub struct Span(&'static str, Instant, i64);
pub fn span(name: &'static str) -> Span {
    Span(name, Instant::now(), faults())
}
impl Drop for Span {
    fn drop(&mut self) {
        add(self.0, 1e3 * self.1.elapsed().as_secs_f64(), faults() - self.2);
    }
}
pub fn add(name: &str, ms: f64, faults: i64) {
    let mut times = TIMES.lock().unwrap();
    let row = times.entry(name.to_owned()).or_default();
    row.0.push(ms);
    row.1 += faults;
}
pub fn print(title: &str) {
    for (name, (mut ms, faults)) in std::mem::take(&mut *TIMES.lock().unwrap()) {
        ms.sort_by(f64::total_cmp);
        let at = |part: f64| ms[((ms.len() - 1) as f64 * part) as usize];
        eprintln!(
            "PROF {title} | {name} | n {} | median {:.3} p95 {:.3} sum {:.1} | faults {:.1}",
            ms.len(),
            at(0.5),
            at(0.95),
            ms.iter().sum::<f64>(),
            faults as f64 / ms.len() as f64
        );
    }
}
