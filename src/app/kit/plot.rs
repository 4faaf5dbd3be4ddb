//! Parts common to all plots: their lines, and the marks of their axes.

use egui::Color32;
use egui_plot::{GridMark, Line};

/// Lines of the grid, on the dark ground that plots have in either theme.
pub const GRID: Color32 = Color32::from_rgb(46, 51, 58);

/// A line through points. Left to itself the plot draws points within a pixel as one band from the least to the greatest, and from
/// the point before as a wedge that widens to it: far from the curve where it falls steeply after a long flat part, as a target's.
pub fn plot_line<'a>(name: impl Into<String>, points: Vec<[f64; 2]>) -> Line<'a> {
    Line::new(name, points).allow_band(false)
}

/// About `count` marks at round numbers from the lowest to the highest value.
pub fn marks(bounds: (f64, f64), count: f64) -> Vec<GridMark> {
    let (low, high) = bounds;
    let rough = (high - low) / count;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = 10.0_f64.powf(rough.log10().floor());
    let step_size = power
        * [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .find(|m| m * power >= rough)
            .unwrap_or(10.0);
    let first = (low / step_size).ceil() as i64;
    let last = (high / step_size).floor() as i64;
    (first..=last)
        .map(|n| GridMark {
            value: n as f64 * step_size,
            step_size,
        })
        .collect()
}

/// A mark's number with enough digits to distinguish it from its neighbours.
pub fn mark_text(mark: GridMark) -> String {
    let digits = (-mark.step_size.log10()).ceil().clamp(0.0, 6.0) as usize;
    format!("{:.digits$}", mark.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(bounds: (f64, f64), count: f64) -> Vec<f64> {
        marks(bounds, count).into_iter().map(|m| m.value).collect()
    }

    #[test]
    fn marks_stand_at_round_numbers() {
        assert_eq!(
            values((-0.6, 64.3), 8.0),
            [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
        );
        assert_eq!(
            values((-1.0, 103.0), 6.0),
            [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
        );
        for (value, step_size, text) in [
            (0.5, 0.5, "0.5"),
            (1.0, 0.5, "1.0"),
            (40.0, 20.0, "40"),
            (0.02, 0.01, "0.02"),
        ] {
            assert_eq!(mark_text(GridMark { value, step_size }), text);
        }
        assert!(values((0.0, 0.0), 5.0).is_empty() && values((0.0, f64::NAN), 5.0).is_empty());
    }
}
