//! How X-ray and DRR are laid over each other, as the user chose.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Comparison of X-ray and DRR in the views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    Xray,
    Drr,
    #[default]
    Blend,
    Colours,
    Checkerboard,
    Swipe,
    Spyglass,
    Difference,
    Edges,
}

impl Mode {
    pub const ALL: [Self; 9] = [
        Self::Xray,
        Self::Drr,
        Self::Blend,
        Self::Colours,
        Self::Checkerboard,
        Self::Swipe,
        Self::Spyglass,
        Self::Difference,
        Self::Edges,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Xray => "X-ray",
            Self::Drr => "DRR",
            Self::Blend => "Blend",
            Self::Colours => "Two colours",
            Self::Checkerboard => "Checkerboard",
            Self::Swipe => "Swipe",
            Self::Spyglass => "Spyglass",
            Self::Difference => "Difference",
            Self::Edges => "Edges",
        }
    }

    /// The word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Xray => "xray",
            Self::Drr => "drr",
            Self::Blend => "blend",
            Self::Colours => "colours",
            Self::Checkerboard => "checkerboard",
            Self::Swipe => "swipe",
            Self::Spyglass => "spyglass",
            Self::Difference => "difference",
            Self::Edges => "edges",
        }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.word() == word)
            .ok_or_else(|| {
                let words: Vec<&str> = Self::ALL.iter().map(|m| m.word()).collect();
                format!("it is {}", words.join(", "))
            })
    }
}

/// Two colours that together are white.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pair {
    RedCyan,
    /// Told apart with any colour vision.
    #[default]
    OrangeBlue,
}

impl Pair {
    pub const ALL: [Self; 2] = [Self::RedCyan, Self::OrangeBlue];

    pub fn name(self) -> &'static str {
        match self {
            Self::RedCyan => "Red and cyan",
            Self::OrangeBlue => "Orange and blue",
        }
    }

    /// The word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::RedCyan => "red-cyan",
            Self::OrangeBlue => "orange-blue",
        }
    }

    /// Display colours of X-ray and DRR, 0 to 1.
    pub fn colours(self) -> [[f32; 3]; 2] {
        match self {
            Self::RedCyan => [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]],
            Self::OrangeBlue => [[1.0, 0.55, 0.0], [0.0, 0.45, 1.0]],
        }
    }
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|p| p.word() == word)
            .ok_or_else(|| "it is red-cyan or orange-blue".to_owned())
    }
}

/// Everything about the drawing that is not the images.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Display {
    pub mode: Mode,
    /// Share of the DRR.
    pub blend: f32,
    pub pair: Pair,
    /// Share of the view's width left of the swipe.
    pub swipe: f32,
    /// Bone dark, as on film.
    pub bone_dark: bool,
    pub outlines: bool,
    pub graticule: bool,
    pub field: bool,
    /// Black and white of the X-ray and of the DRR, shares of their own ranges.
    pub xray_window: [f32; 2],
    pub drr_window: [f32; 2],
    /// 32-bit filtering in the shader.
    pub exact: bool,
}

impl Display {
    /// As read from a file: no value beyond what the panel lets one choose.
    #[must_use]
    pub fn sound(self) -> Self {
        let plain = Self::default();
        Self {
            blend: sound_share(self.blend),
            swipe: sound_share(self.swipe),
            xray_window: sound_window(self.xray_window, plain.xray_window),
            drr_window: sound_window(self.drr_window, plain.drr_window),
            ..self
        }
    }
}

fn sound_share(share: f32) -> f32 {
    if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.5
    }
}

fn sound_window(window: [f32; 2], default: [f32; 2]) -> [f32; 2] {
    if window.iter().all(|v| v.is_finite()) {
        window
    } else {
        default
    }
}

impl Default for Display {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            blend: 0.5,
            pair: Pair::default(),
            swipe: 0.5,
            bone_dark: false,
            outlines: true,
            graticule: true,
            field: true,
            xray_window: [0.0, 1.0],
            drr_window: [0.0, 1.0],
            exact: false,
        }
    }
}
