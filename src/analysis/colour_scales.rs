//! Colour scales of dose differences and of gamma: a picture in a report has the colours of the view.

use case::Rgb;

/// Colours of a difference from the most negative to the most positive (ColorBrewer's RdBu without its middle):
/// distinguishable with all kinds of colour vision, palest near zero.
pub const DIVERGING: [Rgb; 6] = [
    Rgb([33, 102, 172]),
    Rgb([67, 147, 195]),
    Rgb([166, 206, 227]),
    Rgb([251, 206, 180]),
    Rgb([224, 106, 85]),
    Rgb([188, 24, 43]),
];

/// Colours of gamma at 0, 1 and the end of the scale.
pub const GAMMA_COLOURS: [Rgb; 3] = [
    Rgb([24, 78, 168]),
    Rgb([250, 250, 250]),
    Rgb([240, 120, 10]),
];

/// Rim of the failing voxels.
pub const FAILING: Rgb = Rgb([255, 60, 0]);

/// Colours of no fluence, of half and of the greatest: lighter throughout.
const FLUENCE_COLOURS: [Rgb; 3] = [Rgb([40, 60, 150]), Rgb([200, 60, 120]), Rgb([255, 225, 90])];

/// Colour of a fluence, part of the greatest of its map.
pub fn fluence_colour(part: f64) -> Rgb {
    let [none, half, full] = FLUENCE_COLOURS;
    let position = 2.0 * part.clamp(0.0, 1.0);
    if position > 1.0 {
        mixed(half, full, position - 1.0)
    } else {
        mixed(none, half, position)
    }
}

/// Colour of a difference at a share -1 to 1 of the scale, as in `kernels/compare.wgsl`.
pub fn difference_colour(share: f64) -> Rgb {
    let t = share.abs().min(1.0) * 2.0;
    let n = (t.floor() as usize).min(1);
    let [from, to] = if share > 0.0 {
        [3 + n, 4 + n]
    } else {
        [2 - n, 1 - n]
    };
    mixed(DIVERGING[from], DIVERGING[to], t - n as f64)
}

/// Colour of a gamma on a scale that ends at `end`, as in `kernels/compare.wgsl`.
pub fn gamma_colour(gamma: f64, end: f64) -> Rgb {
    let [zero, one, full] = GAMMA_COLOURS;
    if gamma <= 1.0 {
        return mixed(zero, one, gamma.max(0.0));
    }
    // A gamma just above 1 is already orange enough to differ from white.
    let t = ((gamma - 1.0) / (end - 1.0).max(1e-6)).clamp(0.0, 1.0);
    mixed(one, full, 0.35 + 0.65 * t)
}

/// Colour of a signed gamma on a scale that ends at `end` on either side, as in `kernels/compare.wgsl`: pale up to 1,
/// darker from there on.
pub fn signed_gamma_colour(gamma: f64, end: f64) -> Rgb {
    let size = gamma.abs();
    let share = match size {
        s if s <= 1.0 => 0.3 * s,
        s => 0.5 + 0.5 * ((s - 1.0) / (end - 1.0).max(1e-6)).min(1.0),
    };
    difference_colour(share.copysign(gamma))
}

fn mixed(Rgb(a): Rgb, Rgb(b): Rgb, t: f64) -> Rgb {
    Rgb([0, 1, 2]
        .map(|n| (f64::from(a[n]) + (f64::from(b[n]) - f64::from(a[n])) * t).round() as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_as_far_from_white_down_as_up_and_gamma_is_white_at_one() {
        for share in [0.05, 0.3, 0.5, 0.8, 1.0, 3.0] {
            assert!(blue(difference_colour(-share)) > 40, "lower is blue");
            assert!(blue(difference_colour(share)) < -40, "higher is red");
        }
        assert_eq!(gamma_colour(1.0, 2.0), GAMMA_COLOURS[1]);
        assert_eq!(
            [gamma_colour(0.0, 2.0), gamma_colour(5.0, 2.0)],
            [GAMMA_COLOURS[0], GAMMA_COLOURS[2]]
        );
        assert!(
            blue(gamma_colour(1.001, 2.0)) < -20,
            "what just fails is not white"
        );
    }

    /// Blue minus red.
    fn blue(Rgb([r, _, b]): Rgb) -> i32 {
        i32::from(b) - i32::from(r)
    }

    #[test]
    fn more_fluence_is_lighter() {
        let lightness: Vec<f64> = (0..=20)
            .map(|n| fluence_colour(f64::from(n) / 20.0))
            .map(|Rgb([r, g, b])| 0.3 * f64::from(r) + 0.6 * f64::from(g) + 0.1 * f64::from(b))
            .collect();
        assert!(
            lightness.windows(2).all(|pair| pair[0] < pair[1]),
            "{lightness:?}"
        );
        assert_eq!(fluence_colour(-1.0), fluence_colour(0.0));
    }

    #[test]
    fn a_signed_gamma_is_pale_where_it_passes() {
        for sign in [-1.0, 1.0] {
            let [passes, fails, worst] = [1.0, 1.01, 2.0].map(|g| {
                let Rgb(channels) = signed_gamma_colour(sign * g, 2.0);
                channels.into_iter().map(i32::from).sum::<i32>()
            });
            assert!(
                passes > fails + 60 && fails > worst,
                "{passes} {fails} {worst}"
            );
        }
    }
}
