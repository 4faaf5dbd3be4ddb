//! Outcome of the passes of a refinement, and remarks on passes that changed nothing.

use super::remarks::OptimiseRemark;

/// Passes of a refinement of leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refinement {
    /// Moves of leaves that were tried.
    pub passes: usize,
    /// Moves that lowered the objective under true dose, and were kept.
    pub kept: usize,
    /// Beams whose move broke a limit of their machine and was taken back, of that beam alone.
    pub rejected: Vec<RejectedBeam>,
}

/// A beam whose moves broke a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedBeam {
    pub beam: String,
    /// Passes in which its move was taken back.
    pub passes: usize,
    /// The limit of the last of them, in words.
    pub limit: String,
}

impl Refinement {
    /// Counts beams whose moves were taken back.
    pub(super) fn reject(&mut self, beams: Vec<RejectedBeam>) {
        for next in beams {
            match self.rejected.iter_mut().find(|r| r.beam == next.beam) {
                Some(earlier) => {
                    earlier.passes += next.passes;
                    earlier.limit = next.limit;
                }
                None => self.rejected.push(next),
            }
        }
    }

    /// Sum of this refinement and the next one of its leaves.
    #[must_use]
    pub(super) fn then(mut self, next: Self) -> Self {
        self.passes += next.passes;
        self.kept += next.kept;
        self.reject(next.rejected);
        self
    }

    /// Remarks on beams that kept their leaves in all passes, and on a refinement that changed nothing.
    pub fn remarks(&self) -> Vec<OptimiseRemark> {
        let still = self.rejected.iter();
        let still = still.filter(|rejected| self.passes > 0 && rejected.passes == self.passes);
        let mut remarks: Vec<OptimiseRemark> = still
            .map(|rejected| OptimiseRemark::LeavesNotMoved {
                beam: rejected.beam.clone(),
                limit: rejected.limit.clone(),
            })
            .collect();
        if self.passes > 0 && self.kept == 0 {
            remarks.push(OptimiseRemark::NothingRefined {
                passes: self.passes,
            });
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(beams: &[&str]) -> Vec<RejectedBeam> {
        let beams = beams.iter().map(|beam| RejectedBeam {
            beam: (*beam).to_owned(),
            passes: 1,
            limit: "control point 2: too fast".to_owned(),
        });
        beams.collect()
    }

    #[test]
    fn what_did_not_move_is_told_and_why() {
        let mut refinement = Refinement {
            passes: 2,
            kept: 1,
            ..Refinement::default()
        };
        refinement.reject(rejected(&["A", "B"]));
        refinement.reject(rejected(&["B"]));
        let words: Vec<String> = refinement
            .remarks()
            .iter()
            .map(ToString::to_string)
            .collect();
        let [only] = &words[..] else {
            panic!("B alone never moved: {words:?}");
        };
        assert!(only.contains("beam 'B'") && only.contains("control point 2: too fast"));
        let idle = Refinement {
            passes: 3,
            ..Refinement::default()
        };
        assert_eq!(
            idle.remarks(),
            [OptimiseRemark::NothingRefined { passes: 3 }]
        );
        let both = refinement.then(idle);
        assert_eq!((both.passes, both.kept), (5, 1));
        assert!(
            both.remarks().is_empty(),
            "B moved in the second refinement"
        );
        // Stopped before its first pass: nothing was tried.
        assert!(Refinement::default().remarks().is_empty());
    }
}
