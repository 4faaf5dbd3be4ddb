//! Display settings: window and level, isodose levels, colourwash. Values only; no drawing.

use case::Rgb;

/// A grey-scale window, HU: `level` is its middle, `width` from black to white.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowLevel {
    pub width_hu: f32,
    pub level_hu: f32,
}

impl WindowLevel {
    pub const fn new(width_hu: f32, level_hu: f32) -> Self {
        Self { width_hu, level_hu }
    }
}

/// Presets on the number keys 1 to 6, in this order (assets/CONVENTIONS.md, Display).
pub const WINDOW_PRESETS: [(&str, WindowLevel); 6] = [
    ("Brain", WindowLevel::new(80.0, 40.0)),
    ("Soft tissue", WindowLevel::new(400.0, 40.0)),
    ("Mediastinum", WindowLevel::new(400.0, 80.0)),
    ("Lung", WindowLevel::new(1500.0, -600.0)),
    ("Bone", WindowLevel::new(2000.0, 350.0)),
    ("Full", WindowLevel::new(4096.0, 1024.0)),
];

/// Definition of 100 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DoseReference {
    /// The plan's prescription; without one, percent are undefined and only Gy are shown.
    Prescription,
    /// The maximum of the displayed dose.
    Maximum,
    /// A dose the user typed, Gy.
    Typed(f64),
}

impl DoseReference {
    /// 100 % in Gy and its name; `None` if it is undefined or not positive.
    pub fn resolve(
        self,
        prescription_gy: Option<f64>,
        max_gy: Option<f64>,
    ) -> Option<(f64, &'static str)> {
        let (gy, name) = match self {
            Self::Prescription => (prescription_gy?, "prescription"),
            Self::Maximum => (max_gy?, "maximum"),
            Self::Typed(gy) => (gy, "typed"),
        };
        (gy.is_finite() && gy > 0.0).then_some((gy, name))
    }
}

/// One isodose line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Isodose {
    pub percent: f32,
    pub colour: Rgb,
    pub shown: bool,
}

impl Isodose {
    /// Whether the line is thick: 100 % and 95 %.
    pub fn is_thick(&self) -> bool {
        self.percent == 100.0 || self.percent == 95.0
    }
}

/// A named set of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelPreset {
    Clinical,
    /// Colours of the viridis map, from white down: ascending in lightness and distinguishable with all kinds of colour vision.
    ColourBlindSafe,
}

/// Most levels that are drawn.
pub const MOST_LEVELS: usize = 16;

const PERCENT: [f32; 10] = [
    110.0, 107.0, 105.0, 100.0, 95.0, 90.0, 80.0, 70.0, 50.0, 30.0,
];

impl LevelPreset {
    pub const ALL: [Self; 2] = [Self::Clinical, Self::ColourBlindSafe];

    pub fn name(self) -> &'static str {
        match self {
            Self::Clinical => "Clinical",
            Self::ColourBlindSafe => "Colour-blind safe",
        }
    }

    /// The levels, highest first.
    pub fn levels(self) -> Vec<Isodose> {
        let colours: [[u8; 3]; 10] = match self {
            Self::Clinical => [
                [255, 255, 255],
                [255, 120, 255],
                [255, 40, 60],
                [255, 140, 30],
                [255, 225, 50],
                [140, 225, 50],
                [40, 205, 140],
                [48, 200, 240],
                [72, 130, 255],
                [150, 105, 255],
            ],
            Self::ColourBlindSafe => [
                [255, 255, 255],
                [250, 240, 110],
                [200, 225, 40],
                [130, 205, 75],
                [70, 185, 115],
                [38, 160, 135],
                [35, 130, 142],
                [50, 105, 142],
                [66, 75, 138],
                [80, 45, 120],
            ],
        };
        PERCENT
            .into_iter()
            .zip(colours)
            .map(|(percent, colour)| Isodose {
                percent,
                colour: Rgb(colour),
                shown: true,
            })
            .collect()
    }
}

/// Quantity of the colourwash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WashOf {
    #[default]
    Dose,
    /// Relative standard deviation of a Monte Carlo dose; other doses show dose.
    Uncertainty,
}

/// Levels of the uncertainty's colourwash in percent of the local dose, ascending, with their colours (of the viridis map).
pub const UNCERTAINTY_LEVELS: [(f32, Rgb); 7] = [
    (0.5, Rgb([68, 1, 84])),
    (1.0, Rgb([65, 68, 135])),
    (2.0, Rgb([42, 120, 142])),
    (3.0, Rgb([34, 168, 132])),
    (5.0, Rgb([122, 209, 81])),
    (10.0, Rgb([253, 231, 37])),
    (20.0, Rgb([255, 250, 200])),
];

/// Display settings of the dose.
#[derive(Clone, Debug, PartialEq)]
pub struct DoseDisplay {
    pub reference: DoseReference,
    /// Highest first.
    pub levels: Vec<Isodose>,
    pub lines: bool,
    pub wash: bool,
    pub wash_of: WashOf,
    /// 0 to 1.
    pub wash_opacity: f32,
    /// Lower limit of the colourwash, percent of the reference.
    pub wash_threshold_percent: f32,
    /// One colour from each level to the next, instead of a ramp.
    pub wash_banded: bool,
}

impl Default for DoseDisplay {
    fn default() -> Self {
        Self {
            reference: DoseReference::Prescription,
            levels: LevelPreset::Clinical.levels(),
            lines: true,
            wash: true,
            wash_of: WashOf::Dose,
            wash_opacity: 0.35,
            wash_threshold_percent: 20.0,
            wash_banded: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_needs_a_reference_that_is_there() {
        assert_eq!(
            DoseReference::Prescription.resolve(Some(60.0), Some(66.0)),
            Some((60.0, "prescription"))
        );
        assert_eq!(DoseReference::Prescription.resolve(None, Some(66.0)), None);
        assert_eq!(
            DoseReference::Maximum.resolve(None, Some(66.0)),
            Some((66.0, "maximum"))
        );
        assert_eq!(DoseReference::Typed(f64::NAN).resolve(None, None), None);
        assert_eq!(DoseReference::Typed(0.0).resolve(None, None), None);
    }

    #[test]
    fn levels_descend_and_differ_in_colour() {
        for preset in LevelPreset::ALL {
            let levels = preset.levels();
            assert!(
                levels
                    .windows(2)
                    .all(|w| w[0].percent > w[1].percent && w[0].colour != w[1].colour)
            );
        }
    }

    /// Linear red, green and blue of an sRGB colour (IEC 61966-2-1), 0 to 1.
    fn linear_rgb(Rgb(c): Rgb) -> [f64; 3] {
        c.map(|v| {
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    /// CIELAB (1976, D65) of an sRGB colour.
    fn lab(colour: Rgb) -> glam::DVec3 {
        let [r, g, b] = linear_rgb(colour);
        let xyz = [
            (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
            0.2126 * r + 0.7152 * g + 0.0722 * b,
            (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
        ];
        let [x, y, z] = xyz.map(|t: f64| {
            if t > 0.008_856 {
                t.cbrt()
            } else {
                7.787 * t + 16.0 / 116.0
            }
        });
        glam::DVec3::new(116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z))
    }

    /// Relative luminance of WCAG 2.2.
    fn luminance(colour: Rgb) -> f64 {
        let [r, g, b] = linear_rgb(colour);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Neighbours are told apart by a difference in CIELAB (1976, D65) of 18 and more; 2.3 is just noticeable
    /// side by side (Mahy et al. 1994), thin lines on grey need several times that.
    #[test]
    fn neighbouring_levels_do_not_look_alike() {
        for preset in LevelPreset::ALL {
            for pair in preset.levels().windows(2) {
                let apart = lab(pair[0].colour).distance(lab(pair[1].colour));
                assert!(
                    apart >= 18.0,
                    "{}: {} % and {} %: {apart:.1}",
                    preset.name(),
                    pair[0].percent,
                    pair[1].percent
                );
            }
        }
    }

    /// Colour-blind safe: lightness alone orders the levels (relative luminance of WCAG 2.2).
    #[test]
    fn colour_blind_safe_levels_ascend_in_lightness() {
        let levels = LevelPreset::ColourBlindSafe.levels();
        assert!(
            levels
                .windows(2)
                .all(|w| luminance(w[0].colour) > luminance(w[1].colour))
        );
    }
}
