//! X-rays whose files hold them mirrored or upside down: each is looked for once more turned over. A chest and its mirror image are so
//! alike that the search finds a pose, some mm off, which no metric by itself shows.

use super::error::RegistrationError;
use super::evidence::{Examiner, LEVELS_MM};
use super::metric::Metric;
use super::request::Request;
use super::view::View;
use case::{Pose, Radiograph};
use std::sync::Arc;

/// A picture that is turned over matches where its metric is greater by this factor. Chosen; what right pictures of the chest have
/// stands in `assets/PHYSICS.md`.
const MUCH_MORE: f64 = 1.1;

/// How a picture is turned over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flip {
    Columns,
    Rows,
    Both,
}

impl Flip {
    pub const ALL: [Self; 3] = [Self::Columns, Self::Rows, Self::Both];

    /// In words, of a picture.
    pub fn words(self) -> &'static str {
        match self {
            Self::Columns => "mirrored left to right",
            Self::Rows => "upside down",
            Self::Both => "turned by 180 degrees",
        }
    }

    /// The X-ray with its picture turned over, and its geometry as it was.
    pub(super) fn of_view(self, view: &View) -> View {
        let projection = &view.radiograph.projection;
        let size = [projection.columns(), projection.rows()];
        let radiograph = Radiograph {
            values: Arc::new(self.of_pixels(&view.radiograph.values, size[0])),
            open: view
                .radiograph
                .open
                .as_ref()
                .map(|open| Arc::new(self.of_pixels(open, size[0]))),
            ..(*view.radiograph).clone()
        };
        let region = view.region.clone().map(|[columns, rows]| match self {
            Self::Columns => [mirrored(columns, size[0]), rows],
            Self::Rows => [columns, mirrored(rows, size[1])],
            Self::Both => [mirrored(columns, size[0]), mirrored(rows, size[1])],
        });
        View {
            radiograph: Arc::new(radiograph),
            region,
        }
    }

    fn of_pixels<T: Copy>(self, values: &[T], columns: usize) -> Vec<T> {
        let rows = || values.chunks(columns);
        match self {
            Self::Columns => rows().flat_map(|row| row.iter().rev().copied()).collect(),
            Self::Rows => rows().rev().flatten().copied().collect(),
            Self::Both => values.iter().rev().copied().collect(),
        }
    }
}

fn mirrored(range: std::ops::Range<usize>, n: usize) -> std::ops::Range<usize> {
    n.saturating_sub(range.end)..n.saturating_sub(range.start)
}

/// An X-ray that matches better with its picture turned over.
#[derive(Clone, Debug, PartialEq)]
pub struct Flipped {
    pub image: String,
    pub flip: Flip,
    pub metric: f64,
    /// Metric of the picture as it is: at the pose found, or where it matches alone.
    pub metric_as_it_is: f64,
}

impl Flipped {
    /// Why the pose is no match, for the metric of the search.
    pub fn doubt(&self, metric: Metric) -> String {
        format!(
            "{} matches {} ({} {:.3}, {:.3} as it is): save the picture turned over, or look at its gantry angle, as an X-ray from the \
             other side is a mirror image, too",
            self.image,
            self.flip.words(),
            metric.name(),
            self.metric,
            self.metric_as_it_is
        )
    }
}

impl Examiner<'_> {
    /// The way to turn an X-ray over in which it matches best, where that is much better than as it is. `as_it_is`: the metric of the
    /// picture at the pose found, and where it matches alone.
    pub(super) fn flipped(
        &self,
        view: &View,
        as_it_is: [f64; 2],
    ) -> Result<Option<Flipped>, RegistrationError> {
        let metric_as_it_is = as_it_is.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let wanted =
            MUCH_MORE * metric_as_it_is.max(self.request.metric.least_of_a_match() / MUCH_MORE);
        if self
            .request
            .metric
            .most()
            .is_some_and(|largest| wanted >= largest)
        {
            return Ok(None);
        }
        let coarse = self.scene(std::slice::from_ref(view), LEVELS_MM[0])?;
        let coarse_as_it_is = coarse
            .value(self.found, self.control)?
            .unwrap_or(f64::NEG_INFINITY);
        let mut best: Option<Flipped> = None;
        for flip in Flip::ALL {
            let view = flip.of_view(view);
            let request = Request {
                views: vec![view.clone()],
                ..self.beside(&Pose::default())
            };
            // Most ways are ruled out by the coarsest level.
            let beginning = self.pose_of(&request, &LEVELS_MM[..1])?;
            let Some((start, _)) = beginning.filter(|(_, metric)| *metric > coarse_as_it_is) else {
                continue;
            };
            let request = Request { start, ..request };
            let Some((pose, _)) = self.pose_of(&request, &LEVELS_MM)? else {
                continue;
            };
            let scene = self.scene(std::slice::from_ref(&view), super::search::FINEST_MM)?;
            let metric = scene.value(&pose, self.control)?.unwrap_or(f64::NAN);
            if metric > wanted && best.as_ref().is_none_or(|best| metric > best.metric) {
                best = Some(Flipped {
                    image: view.radiograph.label.clone(),
                    flip,
                    metric,
                    metric_as_it_is,
                });
            }
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_turned_over_with_their_regions() {
        // Three columns, two rows.
        let values = [1, 2, 3, 4, 5, 6];
        for (flip, turned) in [
            (Flip::Columns, [3, 2, 1, 6, 5, 4]),
            (Flip::Rows, [4, 5, 6, 1, 2, 3]),
            (Flip::Both, [6, 5, 4, 3, 2, 1]),
        ] {
            assert_eq!(flip.of_pixels(&values, 3), turned, "{flip:?}");
        }
    }
}
