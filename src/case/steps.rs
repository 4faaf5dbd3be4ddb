//! Undo: a value with its past and its undone future.

/// A value that is changed in steps, each of which can be undone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps<T> {
    now: T,
    past: Vec<T>,
    future: Vec<T>,
    /// Steps of one drag share a key and undo together.
    gesture: Option<u64>,
}

/// Most past values that are kept.
const MOST_STEPS: usize = 200;

impl<T> Steps<T> {
    /// Starts with nothing to undo.
    pub fn at(value: T) -> Self {
        Self {
            now: value,
            past: Vec::new(),
            future: Vec::new(),
            gesture: None,
        }
    }

    pub fn now(&self) -> &T {
        &self.now
    }

    /// The current value, for changes without a step of their own.
    pub fn now_mut(&mut self) -> &mut T {
        &mut self.now
    }

    /// All values, oldest first, the undone ones too, for changes that are part of an earlier step.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let current = std::iter::once(&mut self.now);
        self.past
            .iter_mut()
            .chain(current)
            .chain(self.future.iter_mut().rev())
    }

    /// Sets the value; steps with the same `gesture` (a drag) undo together.
    pub fn set(&mut self, value: T, gesture: Option<u64>) {
        let goes_on = self.goes_on(gesture);
        let previous = std::mem::replace(&mut self.now, value);
        if !goes_on {
            self.past.push(previous);
            if self.past.len() > MOST_STEPS {
                self.past.remove(0);
            }
        }
        self.gesture = gesture;
        self.future.clear();
    }

    /// The gesture of the last step.
    pub fn gesture(&self) -> Option<u64> {
        self.gesture
    }

    /// Whether a change of this `gesture` belongs to the last step.
    pub fn goes_on(&self, gesture: Option<u64>) -> bool {
        gesture.is_some() && gesture == self.gesture
    }

    /// Undoes the last step and returns the undone value; `None` where there is no step.
    pub fn undo(&mut self) -> Option<&T> {
        let previous = self.past.pop()?;
        self.future.push(std::mem::replace(&mut self.now, previous));
        self.gesture = None;
        self.future.last()
    }

    /// Redoes the last undo and returns the value before it; `None` where there is none.
    pub fn redo(&mut self) -> Option<&T> {
        let after = self.future.pop()?;
        self.past.push(std::mem::replace(&mut self.now, after));
        self.gesture = None;
        self.past.last()
    }

    /// The values before, oldest first.
    pub fn past(&self) -> &[T] {
        &self.past
    }

    /// The undone values; the next to be redone is the last.
    pub fn future(&self) -> &[T] {
        &self.future
    }

    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gesture_undoes_as_one_and_a_step_by_itself() {
        let mut steps = Steps::at(0);
        for (value, gesture) in [(1, None), (2, Some(7)), (3, Some(7)), (4, Some(8))] {
            steps.set(value, gesture);
        }
        let mut seen = vec![];
        while steps.undo().is_some() {
            seen.push(*steps.now());
        }
        assert_eq!(seen, [3, 1, 0]);
        assert_eq!(steps.redo(), Some(&0));
        assert_eq!(steps.redo(), Some(&1));
        assert_eq!(*steps.now(), 3);
        // A new drag under the same key is a new step.
        steps.set(9, Some(7));
        assert!(!steps.can_redo());
        assert_eq!(steps.undo(), Some(&9));
        assert_eq!(*steps.now(), 3);
    }

    #[test]
    fn the_past_does_not_grow_without_end() {
        let mut steps = Steps::at(0);
        (1..=MOST_STEPS + 5).for_each(|value| steps.set(value, None));
        let mut count = 0;
        while steps.undo().is_some() {
            count += 1;
        }
        assert_eq!((count, *steps.now()), (MOST_STEPS, 5));
    }
}
