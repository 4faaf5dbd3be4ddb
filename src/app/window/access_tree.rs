//! The accessibility tree of each frame in a file, for scripts that drive the window by mouse and keys.
//!
//! Screen readers get the same tree over a bus that a bare display lacks.

use egui::accesskit::{Node, NodeId, Role, Toggled};
use egui::{Context, FullOutput, Plugin, RawInput, Rect};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// An unsettled window is drawn this often, so that the file tells when it has settled.
const UNSETTLED_FRAME: Duration = Duration::from_millis(400);

/// A frame that is requested within this time belongs to the input of the last one.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Writes `{"frame": N, "events": N, "stands": true, "settled": true, "widgets": [...]}` after each frame: how many frames and
/// events of mouse and keys there were, whether no other frame is to follow at once, and whether all results of the case are
/// available. A widget has its role, its accessible name or its text, its value, and the rectangle `[left, top, right, bottom]`
/// of it that is inside its panel, in points; a widget that is scrolled away has none and stands with its whole rectangle under
/// `beyond`.
#[derive(Debug)]
pub(super) struct AccessTree {
    path: PathBuf,
    frame: u64,
    events: usize,
    /// Whether all results of the case are available.
    pub settled: bool,
}

impl AccessTree {
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            frame: 0,
            events: 0,
            settled: false,
        }
    }
}

impl Plugin for AccessTree {
    fn debug_name(&self) -> &'static str {
        "accessibility tree"
    }

    fn on_begin_pass(&mut self, ui: &mut egui::Ui) {
        // Without a screen reader egui would make no tree.
        ui.ctx().enable_accesskit();
    }

    fn input_hook(&mut self, _ctx: &Context, input: &mut RawInput) {
        self.events += input.events.len();
    }

    fn output_hook(&mut self, ctx: &Context, output: &mut FullOutput) {
        let Some(update) = &output.platform_output.accesskit_update else {
            return;
        };
        if !self.settled {
            ctx.request_repaint_after(UNSETTLED_FRAME);
        }
        // The widgets of the frame are the previous ones by now.
        let visible: HashMap<NodeId, Rect> = ctx.viewport(|v| {
            let widgets = v
                .prev_pass
                .widgets
                .layers()
                .flat_map(|(_, widgets)| widgets);
            widgets
                .map(|w| (w.id.accesskit_id(), w.interact_rect))
                .collect()
        });
        let mut widgets = Vec::new();
        let nodes: HashMap<NodeId, &Node> =
            update.nodes.iter().map(|(id, node)| (*id, node)).collect();
        // In the order in which they are laid out, by their parents.
        let mut next = vec![egui::accesskit_root_id().accesskit_id()];
        while let Some(id) = next.pop() {
            let Some(node) = nodes.get(&id) else { continue };
            let mut labels = node.labelled_by().iter();
            widgets.extend(widget(
                node,
                name(node).or_else(|| labels.find_map(|label| name(nodes.get(label)?))),
                visible.get(&id),
                id == update.focus,
            ));
            next.extend(node.children().iter().rev());
        }
        self.frame += 1;
        let stands = output
            .viewport_output
            .values()
            .all(|view| view.repaint_delay > AT_ONCE);
        let tree = json!({
            "frame": self.frame,
            "events": self.events,
            "stands": stands,
            "settled": self.settled,
            "widgets": widgets,
        });
        let partial_file = self.path.with_extension("part");
        let written = std::fs::write(&partial_file, tree.to_string())
            .and_then(|()| std::fs::rename(&partial_file, &self.path));
        if let Err(error) = written {
            tracing::warn!(
                "the accessibility tree was not written to {}: {error}",
                self.path.display()
            );
        }
    }
}

/// Labels carry their text as value.
fn name(node: &Node) -> Option<&str> {
    node.label()
        .or_else(|| node.value().filter(|_| node.role() == Role::Label))
}

/// `None` for what has neither a name nor a value, as panels and gaps.
fn widget(node: &Node, name: Option<&str>, visible: Option<&Rect>, focused: bool) -> Option<Value> {
    let bounds = node.bounds()?;
    let value = node
        .value()
        .map(Value::from)
        .or_else(|| node.numeric_value().map(Value::from));
    if node.role() == Role::TextRun || name.is_none() && value.is_none() {
        return None;
    }
    let full_rect = [bounds.x0, bounds.y0, bounds.x1, bounds.y1];
    let mut said =
        json!({ "role": format!("{:?}", node.role()), "name": name.unwrap_or_default() });
    let inside = visible.map_or(full_rect, |r| {
        [r.min.x, r.min.y, r.max.x, r.max.y].map(f64::from)
    });
    // A sliver of a scrolled row is no place for a click.
    if inside[2] - inside[0] > 2.0 && inside[3] - inside[1] > 2.0 {
        said["rect"] = json!(inside);
    } else {
        said["beyond"] = json!(full_rect);
    }
    let facts = [
        ("value", value.filter(|_| node.role() != Role::Label)),
        (
            "on",
            node.toggled().map(|on| Value::from(on == Toggled::True)),
        ),
        ("disabled", node.is_disabled().then_some(Value::Bool(true))),
        ("focused", focused.then_some(Value::Bool(true))),
    ];
    facts
        .into_iter()
        .filter_map(|(key, fact)| Some((key, fact?)))
        .for_each(|(key, fact)| said[key] = fact);
    Some(said)
}
