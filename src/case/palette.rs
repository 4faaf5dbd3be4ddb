//! Colours of structures: told apart on a dark image, by colour-blind users as well.

use super::Rgb;

/// Hues of Okabe and Ito (Color Universal Design, 2008), lightened for dark images, and between them hues of
/// Tol's "bright" and "light" schemes (SRON/EPS/TN/09-002, 2021).
pub const STRUCTURE_COLOURS: [Rgb; 14] = [
    Rgb([240, 228, 66]),
    Rgb([86, 180, 233]),
    Rgb([232, 112, 40]),
    Rgb([0, 184, 138]),
    Rgb([224, 140, 190]),
    Rgb([70, 130, 235]),
    Rgb([238, 221, 170]),
    Rgb([245, 90, 110]),
    Rgb([153, 221, 255]),
    Rgb([155, 170, 30]),
    Rgb([170, 90, 200]),
    Rgb([245, 165, 20]),
    Rgb([68, 225, 190]),
    Rgb([190, 190, 190]),
];

/// Two colours nearer than this (OKLab) look alike.
pub const LOOK_ALIKE: f64 = 0.10;

/// Neighbours in the list that a colour-blind user tells apart: a palette has no more hues for him.
const NEIGHBOURS: usize = 4;

/// The colour of a structure that is added to a list of these colours: `first`, the usual one of its type, where none
/// looks like it; else of the palette the one that differs most from all, and from its neighbours for colour-blind
/// users too. Where all of the palette are in use, the oldest count no more.
pub fn free_colour(used: &[Rgb], first: Option<Rgb>) -> Rgb {
    if let Some(first) = first
        && used
            .iter()
            .all(|other| colour_distance(first, *other) > LOOK_ALIKE)
    {
        return first;
    }

    for from in 0..used.len() {
        let best = STRUCTURE_COLOURS
            .into_iter()
            .max_by(|a, b| min_distance(*a, used, from).total_cmp(&min_distance(*b, used, from)));
        if let Some(best) = best.filter(|best| min_distance(*best, used, from) > LOOK_ALIKE) {
            return best;
        }
    }
    STRUCTURE_COLOURS[0]
}

/// Distance of a colour to the nearest of the used ones from an index on, and to its neighbours for colour-blind users.
fn min_distance(colour: Rgb, used: &[Rgb], from: usize) -> f64 {
    let neighbours = from.max(used.len().saturating_sub(NEIGHBOURS));
    let distances = used[from..]
        .iter()
        .map(|other| colour_distance(colour, *other));
    let blind = used[neighbours..]
        .iter()
        .map(|other| blind_distance(colour, *other));
    distances.chain(blind).fold(f64::INFINITY, f64::min)
}

/// How far apart two colours look (OKLab).
pub fn colour_distance(a: Rgb, b: Rgb) -> f64 {
    distance(&NORMAL, a, b)
}

/// As [`colour_distance`], to the user who tells them apart least: with normal vision, protanopia or deuteranopia.
pub fn blind_distance(a: Rgb, b: Rgb) -> f64 {
    [NORMAL, PROTANOPIA, DEUTERANOPIA]
        .iter()
        .map(|v| distance(v, a, b))
        .fold(f64::INFINITY, f64::min)
}

fn distance(vision: &Matrix, a: Rgb, b: Rgb) -> f64 {
    let [a, b] = [a, b].map(|c| oklab(seen(vision, linear(c))));
    (0..3).map(|n| (a[n] - b[n]).powi(2)).sum::<f64>().sqrt()
}

type Matrix = [[f64; 3]; 3];

const NORMAL: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Machado, Oliveira and Fernandes, IEEE TVCG 15 (2009) 1291, table of severity 1.0; on linear RGB.
const PROTANOPIA: Matrix = [
    [0.152_286, 1.052_583, -0.204_868],
    [0.114_503, 0.786_281, 0.099_216],
    [-0.003_882, -0.048_116, 1.051_998],
];

/// As [`PROTANOPIA`].
const DEUTERANOPIA: Matrix = [
    [0.367_322, 0.860_646, -0.227_968],
    [0.280_085, 0.672_501, 0.047_413],
    [-0.011_820, 0.042_940, 0.968_881],
];

/// sRGB to linear RGB, 0 to 1 (IEC 61966-2-1).
fn linear(colour: Rgb) -> [f64; 3] {
    colour.0.map(|v| {
        let v = f64::from(v) / 255.0;
        if v <= 0.040_45 {
            v / 12.92
        } else {
            ((v + 0.055) / 1.055).powf(2.4)
        }
    })
}

fn seen(vision: &Matrix, rgb: [f64; 3]) -> [f64; 3] {
    vision.map(|row| (0..3).map(|n| row[n] * rgb[n]).sum::<f64>().clamp(0.0, 1.0))
}

/// Linear RGB to OKLab (Ottosson, 2020).
fn oklab([r, g, b]: [f64; 3]) -> [f64; 3] {
    let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
    let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
    let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OKLab of the primaries as its author gives them.
    #[test]
    fn oklab_has_white_at_one_and_red_where_its_author_has_it() {
        for (colour, want) in [
            ([255; 3], [1.0, 0.0, 0.0]),
            ([255, 0, 0], [0.628, 0.2249, 0.1258]),
        ] {
            let got = oklab(linear(Rgb(colour)));
            assert!(
                (0..3).all(|n| (got[n] - want[n]).abs() < 1e-3),
                "{got:?} for {want:?}"
            );
        }
        assert!((colour_distance(Rgb([0; 3]), Rgb([255; 3])) - 1.0).abs() < 1e-3);
    }

    /// A red and a green of one lightness look alike without red or green cones.
    #[test]
    fn red_and_green_are_alike_to_a_colour_blind_user() {
        let (red, green) = (Rgb([200, 60, 40]), Rgb([110, 120, 30]));
        assert!(blind_distance(red, green) < 0.5 * colour_distance(red, green));
    }

    #[test]
    fn each_new_colour_differs_from_its_neighbours_and_the_first_from_all() {
        let mut used: Vec<Rgb> = Vec::new();
        for n in 0..40 {
            let next = free_colour(&used, None);
            for other in &used[used.len().saturating_sub(NEIGHBOURS)..] {
                assert!(
                    blind_distance(next, *other) > LOOK_ALIKE,
                    "{n}: {next:?} beside {other:?}"
                );
            }
            if n < 9 {
                assert!(
                    used.iter()
                        .all(|other| colour_distance(next, *other) > LOOK_ALIKE),
                    "{n}: {next:?}"
                );
            }
            used.push(next);
        }
    }

    #[test]
    fn the_colour_of_a_type_is_kept_until_a_structure_has_it() {
        let red = Rgb([255, 82, 82]);
        assert_eq!(free_colour(&[Rgb([86, 180, 233])], Some(red)), red);
        let second = free_colour(&[red], Some(red));
        assert!(colour_distance(second, red) > LOOK_ALIKE, "{second:?}");
    }
}
