//! Keys that are struck before the field that they are meant for has the focus: where frames are slow, a click, the tabulator or Return
//! and the letters behind it come in one frame, and a field asks for the focus in that frame, or in the next if it opens then. The
//! letters wait for it, and so do all later events: none is lost, none is a shortcut, and their order stays.

use egui::{Context, Event, Key, Plugin, PointerButton, RawInput};

/// Frames after a click in which a field may still open: a command opens it in the first, and it requests the focus there.
const PATIENCE: u64 = 2;

/// Keeps what is typed ahead of the focus.
#[derive(Debug, Default)]
pub(super) struct TypedAhead {
    /// Events that wait, in order.
    waiting: Vec<Event>,
    /// Frame of the last event that may move the focus, until that has come to rest.
    focus_moves_since: Option<u64>,
}

impl TypedAhead {
    /// The events of a frame, without those that have to wait.
    fn let_through(
        &mut self,
        frame: u64,
        is_field_focused: bool,
        arrived: Vec<Event>,
    ) -> Vec<Event> {
        self.focus_moves_since
            .take_if(|since| frame > *since && (is_field_focused || frame > *since + PATIENCE));
        let mut events = std::mem::take(&mut self.waiting);
        events.extend(arrived);
        let mut end = events.len();
        for (n, event) in events.iter().enumerate() {
            if self.focus_moves_since.is_some() && is_typed(event) {
                end = n;
                break;
            }
            if may_move_focus(event) {
                self.focus_moves_since = Some(frame);
            }
        }
        self.waiting = events.split_off(end);
        events
    }
}

impl Plugin for TypedAhead {
    fn debug_name(&self) -> &'static str {
        "keys typed ahead of the focus"
    }

    fn input_hook(&mut self, ctx: &Context, input: &mut RawInput) {
        let arrived = std::mem::take(&mut input.events);
        input.events =
            self.let_through(ctx.cumulative_frame_nr(), ctx.text_edit_focused(), arrived);
        if !self.waiting.is_empty() {
            ctx.request_repaint();
        }
    }
}

fn is_typed(event: &Event) -> bool {
    matches!(
        event,
        Event::Key { pressed: true, .. }
            | Event::Text(_)
            | Event::Paste(_)
            | Event::Cut
            | Event::Copy
            | Event::Ime(_)
    )
}

/// Whether a field may have the focus after an event that had it not before.
fn may_move_focus(event: &Event) -> bool {
    match event {
        Event::PointerButton {
            button, pressed, ..
        } => *button == PointerButton::Primary && !pressed,
        Event::Key { key, pressed, .. } => *pressed && matches!(key, Key::Tab | Key::Enter),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{Modifiers, Pos2};

    fn released() -> Event {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        Event::PointerButton {
            pos: Pos2::ZERO,
            button,
            pressed: false,
            modifiers,
        }
    }

    fn text(word: &str) -> Event {
        Event::Text(word.to_owned())
    }

    fn key(key: Key) -> Event {
        Event::Key {
            key,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: Modifiers::NONE,
        }
    }

    #[test]
    fn letters_behind_a_click_wait_for_the_field_and_keep_their_order() {
        let mut ahead = TypedAhead::default();
        let (a, b) = (text("a"), text("b"));
        let first = ahead.let_through(
            7,
            false,
            vec![text("x"), released(), a.clone(), released(), b.clone()],
        );
        assert_eq!(first, [text("x"), released()]);
        // A second pass of the frame brings none of them.
        assert!(ahead.let_through(7, true, Vec::new()).is_empty());
        assert_eq!(ahead.let_through(8, true, Vec::new()), [a, released()]);
        assert_eq!(ahead.let_through(9, true, vec![text("c")]), [b, text("c")]);
        assert!(ahead.waiting.is_empty());
    }

    #[test]
    fn letters_are_given_to_a_window_in_which_no_field_opens() {
        let mut ahead = TypedAhead::default();
        ahead.let_through(1, false, vec![released()]);
        assert!(ahead.let_through(2, false, vec![text("b")]).is_empty());
        assert!(ahead.let_through(3, false, Vec::new()).is_empty());
        assert_eq!(ahead.let_through(4, false, Vec::new()), [text("b")]);
        assert_eq!(ahead.let_through(5, false, vec![text("c")]), [text("c")]);
    }

    #[test]
    fn the_number_behind_the_tabulator_is_that_of_the_next_field() {
        let mut ahead = TypedAhead::default();
        let typed = vec![text("35"), key(Key::Tab), text("20")];
        assert_eq!(
            ahead.let_through(1, true, typed),
            [text("35"), key(Key::Tab)]
        );
        assert_eq!(ahead.let_through(2, true, Vec::new()), [text("20")]);
    }
}
