//! Points without gamma, in words: panel, reports and verbs say alike how many of them there are, for a pass rate says nothing
//! of them.

use super::Side;
use engine::gamma::Counts;

/// The number of points without gamma: `67 240 of 68 921 points (97.6 %) NOT judged`; `None` where all have one.
pub fn unjudged_text(judged: usize, unjudged: usize) -> Option<String> {
    let total = judged + unjudged;
    let percent = 100.0 * unjudged as f64 / total.max(1) as f64;
    let [unjudged_words, points] = [unjudged, total].map(grouped);
    (unjudged > 0)
        .then(|| format!("{unjudged_words} of {points} points ({percent:.1} %) NOT judged"))
}

/// As [`unjudged_text`], with the reasons: `...: 67 240 outside B`.
pub fn unjudged_words(counts: &Counts, evaluated: Side) -> Option<String> {
    let Counts {
        analysed,
        outside,
        undefined,
        ..
    } = *counts;
    let number = unjudged_text(analysed, counts.unjudged())?;
    let parts = [
        (
            outside,
            format!("{} outside {}", grouped(outside), evaluated.name()),
        ),
        (undefined, format!("{} of 0 Gy", grouped(undefined))),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter_map(|(n, words)| (n > 0).then_some(words))
        .collect();
    Some(format!("{number}: {}", parts.join(", ")))
}

/// A count with separated thousands.
pub fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_thousands() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1000), grouped(12_345_678)].join("|"),
            "0|999|1 000|12 345 678"
        );
    }

    #[test]
    fn points_without_gamma_are_counted() {
        let counts = Counts {
            analysed: 1681,
            passing: 1681,
            outside: 67_240,
            undefined: 0,
        };
        let words = unjudged_words(&counts, Side::B).unwrap();
        assert_eq!(
            words,
            "67 240 of 68 921 points (97.6 %) NOT judged: 67 240 outside B"
        );
        assert_eq!(
            unjudged_words(
                &Counts {
                    outside: 0,
                    ..counts
                },
                Side::B
            ),
            None
        );
    }
}
