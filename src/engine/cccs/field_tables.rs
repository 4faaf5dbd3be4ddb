//! A field's fluence and spectrum as tables for the kernels of every card (`kernels/fluence.cuh`, `kernels/engine_fluence.wgsl`).

use super::angles::TiltNorm;
use super::beam;
use crate::dose::medium::Medium;
use crate::kernel_size::int;
use bytemuck::{Pod, Zeroable};
use physics::{FluenceTables, Picture as Values, normal_tables};

/// Declares a struct for the host and, of the same members, for kernels: `WGSL`, which shaders begin with, and `CUDA`, which
/// `kernels/field.cuh` repeats.
macro_rules! declare {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $vis:vis $member:ident: $of:tt,)* }) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
        pub struct $name {
            $($(#[$about])* $vis $member: $of,)*
        }

        impl $name {
            pub const WGSL: &str = concat!(
                "struct ", stringify!($name), " {\n",
                $("    ", stringify!($member), ": ", wgsl!($of), ",\n",)*
                "}\n"
            );
            #[cfg(test)]
            const CUDA: &str = concat!(
                "struct ", stringify!($name), " {\n",
                $("    ", cuda!($of), " ", stringify!($member), lengths!($of), ";\n",)*
                "};\n"
            );
        }
    };
}

macro_rules! wgsl {
    ([$of:tt; $n:literal]) => {
        concat!("array<", wgsl!($of), ", ", $n, ">")
    };
    ($of:ident) => {
        stringify!($of)
    };
}

#[cfg(test)]
macro_rules! cuda {
    ([$of:tt; $n:literal]) => {
        cuda!($of)
    };
    (f32) => {
        "float"
    };
    (i32) => {
        "int"
    };
    ($of:ident) => {
        stringify!($of)
    };
}

#[cfg(test)]
macro_rules! lengths {
    ([$of:tt; $n:literal]) => {
        concat!("[", $n, "]", lengths!($of))
    };
    ($of:ident) => {
        ""
    };
}

declare! {
    /// A picture over the isocentre plane. Its entries lie in the list of numbers or, where it is a table of sums, which are large and
    /// of which differences count, in the list of sums.
    Picture {
        pub first_mm: [f32; 2],
        pub step_mm: f32,
        pub size: [i32; 2],
        /// First of its entries in the list of numbers, or of sums.
        pub first: i32,
        /// 0: there is none.
        pub here: i32,
    }
}

declare! {
    /// A field. Positions are in the frame of the beam limiting device. Members named `..._at` are first indices of tables in the list of
/// numbers.
    Field {
        /// Voxel (0, 0, 0).
        voxel_mm: [f32; 3],
        step_mm: [[f32; 3]; 3],
        sad_mm: f32,
        footprint_mm: f32,
        focal_sigma_mm: [f32; 2],
        jaw_distance_mm: [f32; 2],
        jaw_transmission: f32,
        extra_distance_mm: f32,
        extra_sigma_mm: f32,
        extra_share: f32,
        scale: f32,
        tilt_reach: f32,
        first_depth_cm: f32,
        depth_step_cm: f32,
        softening_step_mm: f32,
        surface_gy: f32,
        surface_scale: f32,
        surface_range_mm: f32,
        surface_falloff_per_mm: f32,
        surface_sigma_mm: f32,
        leaf_distance_mm: f32,
        pub focal: Picture,
        pub surface: Picture,
        /// Three planes.
        scattered: Picture,
        size: [i32; 3],
        openings_at: i32,
        openings: i32,
        horn_at: i32,
        horns: i32,
        softening_at: i32,
        softenings: i32,
        normal_at: i32,
        integral_at: i32,
        terma_at: i32,
        terma_rows: i32,
        tilt_at: i32,
        leaves: i32,
        along_y: i32,
    }
}

/// A field as kernels declare it, and the tables that it points into, one after the other.
#[derive(Default)]
pub struct FieldTables {
    pub field: Field,
    pub numbers: Vec<f32>,
    /// Tables of sums, whose differences count.
    pub sums: Vec<f64>,
}

impl FieldTables {
    /// For the voxels of a medium.
    pub fn new(
        field: &beam::Field<'_>,
        beam: &beam::Superposition,
        tilt: &TiltNorm,
        medium: &Medium,
    ) -> Self {
        let grid = &medium.grid;
        let FluenceTables {
            sad_mm,
            focal_sigma_mm,
            jaw_distance_mm,
            jaw_transmission,
            extra_focal,
            electrons,
            horn,
            openings,
            leaves,
            scale,
            electron_scale,
        } = field.fluence.tables();
        let mut numbers = Self::default();
        let lattice = medium.lattice();
        let steps = [0, 1, 2].map(|axis| {
            let step = grid.axes()[axis] * lattice.spacing_mm[axis];
            field.frame.axes.map(|device_axis| step.dot(device_axis))
        });
        let (normal, integral) = normal_tables();
        let (terma_rows, [first_depth_cm, depth_step_cm]) = beam.kernel.terma_table();
        let (tilts, tilt_reach) = tilt.factors();
        let (softening, softening_step_mm) = beam.softening.layers();
        let mut out = Field {
            voxel_mm: field
                .frame
                .device_from_patient(grid.centre_mm(0, 0, 0))
                .to_array()
                .map(|mm| mm as f32),
            step_mm: steps.map(|step| step.map(|mm| mm as f32)),
            sad_mm: sad_mm as f32,
            footprint_mm: lattice.spacing_mm[0] as f32,
            focal_sigma_mm: focal_sigma_mm.map(|mm| mm as f32),
            jaw_distance_mm: jaw_distance_mm.map(|mm| mm as f32),
            jaw_transmission: jaw_transmission as f32,
            scale: scale as f32,
            tilt_reach: tilt_reach as f32,
            first_depth_cm: first_depth_cm as f32,
            depth_step_cm: depth_step_cm as f32,
            softening_step_mm: softening_step_mm as f32,
            size: grid.size().map(int),
            openings: int(openings.len()),
            openings_at: numbers.add(openings.into_iter().flatten()),
            horns: int(horn.len()),
            horn_at: numbers.add(horn.iter().copied()),
            softenings: int(softening.len()),
            softening_at: numbers.add(softening.iter().flat_map(|l| [l.less_cm, l.kept])),
            normal_at: numbers.add(normal.iter().copied()),
            integral_at: numbers.add(integral.iter().copied()),
            terma_rows: int(terma_rows.len()),
            terma_at: numbers.add(terma_rows.iter().flatten().copied()),
            tilt_at: numbers.add(tilts.iter().flatten().map(|f| f64::from(*f))),
            ..Field::default()
        };
        if let Some(extra) = extra_focal {
            out.extra_distance_mm = extra.distance_mm as f32;
            out.extra_sigma_mm = extra.sigma_mm as f32;
            out.extra_share = extra.share as f32;
        }
        if let Some(electrons) = electrons {
            out.surface_gy = field.electrons_gy as f32;
            out.surface_scale = electron_scale as f32;
            out.surface_range_mm = electrons.range_mm as f32;
            out.surface_falloff_per_mm = electrons.falloff_per_mm as f32;
            out.surface_sigma_mm = electrons.sigma_mm as f32;
        }
        if let Some(leaves) = leaves {
            out.leaves = 1;
            out.along_y = i32::from(leaves.along_y);
            out.leaf_distance_mm = leaves.distance_mm as f32;
            out.focal = numbers.table_of_sums(&leaves.focal);
            out.scattered = leaves
                .scattered
                .map(|p| numbers.picture(&p))
                .unwrap_or_default();
            out.surface = leaves
                .electrons
                .map(|p| numbers.table_of_sums(&p))
                .unwrap_or_default();
        }
        Self {
            field: out,
            ..numbers
        }
    }

    /// Appends a table; where it begins.
    fn add(&mut self, values: impl IntoIterator<Item = f64>) -> i32 {
        let first = int(self.numbers.len());
        self.numbers.extend(values.into_iter().map(|v| v as f32));
        first
    }

    fn picture(&mut self, picture: &Values<'_, f32>) -> Picture {
        let first = int(self.numbers.len());
        self.numbers
            .extend(picture.parts.iter().flat_map(|part| part.iter()));
        described_picture(picture, first)
    }

    fn table_of_sums(&mut self, picture: &Values<'_, f64>) -> Picture {
        let first = int(self.sums.len());
        self.sums
            .extend(picture.parts.iter().flat_map(|part| part.iter()));
        described_picture(picture, first)
    }
}

fn described_picture<T>(picture: &Values<'_, T>, first: i32) -> Picture {
    Picture {
        first,
        first_mm: picture.first_mm.map(|mm| mm as f32),
        step_mm: picture.step_mm as f32,
        size: picture.size.map(int),
        here: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_declare_the_same_members() {
        let head = "// Tables of a field, as engine/cccs/field_tables.rs declares them: a test there says what to write here.";
        let want = format!(
            "{head}\n\n#pragma once\n\n{}\n{}",
            Picture::CUDA,
            Field::CUDA
        );
        let is = include_str!("../../../kernels/field.cuh");
        assert!(
            is == want,
            "write this to kernels/field.cuh, then run python3 .ci/compile_kernels.py:\n{want}"
        );
        assert!(Field::WGSL.contains("    step_mm: array<array<f32, 3>, 3>,\n    sad_mm: f32,\n"));
    }
}
