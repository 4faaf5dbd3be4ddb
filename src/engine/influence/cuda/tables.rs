//! A field and the columns and rows of its map as tables for the kernels of the influence.

use crate::cccs::angles::TiltNorm;
use crate::cccs::beam::{self, Superposition};
use crate::cccs::field_tables::{Field, FieldTables};
use crate::cuda::{Buffer, CardLock, CudaError, int};
use crate::dose::medium::Medium;
use crate::influence::request::{InfluenceRequest, OpenField};
use bytemuck::{Pod, Zeroable};
use physics::{Machine, SpanTables};

/// `struct Spans` of `kernels/spans.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Spans {
    first_mm: f32,
    step_mm: f32,
    blur_mm: f32,
    pixels: i32,
    pub spans: i32,
    sides_at: i32,
    sums_at: i32,
}

/// Columns of a map, or its rows, as the wide sources see them: `struct SmoothSpans` of `kernels/influence_smooth.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct SmoothSpans {
    pub electrons: Spans,
    jaws_mm: [f32; 2],
    jaw_distance_mm: f32,
}

/// A field with its map, ready to be uploaded.
pub struct Tables {
    field: Field,
    numbers: Vec<f32>,
    sides_mm: Vec<f32>,
    sums: Vec<f64>,
    /// The number of each beamlet of the map among the requested ones, all ones for others.
    asked: Vec<u32>,
    /// Row and column of each requested beamlet.
    places: Vec<[u32; 2]>,
    focal: [Spans; 2],
    wide: [SmoothSpans; 2],
    open_focal: f32,
    source_mm: [f32; 3],
}

/// The same on a card.
pub struct TablesOnCard {
    pub field: Field,
    pub numbers: Buffer<f32>,
    pub sides_mm: Buffer<f32>,
    pub sums: Buffer<f64>,
    pub asked: Buffer<u32>,
    pub places: Buffer<[u32; 2]>,
    /// Columns along u, then rows along v.
    pub focal: [Spans; 2],
    pub wide: [SmoothSpans; 2],
    /// Focal fluence of the open machine on its axis.
    pub open_focal: f32,
    /// The radiation source in the lattice's frame.
    pub source_mm: [f32; 3],
}

impl Tables {
    pub fn new(
        request: &InfluenceRequest,
        machine: &Machine,
        field: &OpenField,
        beam: &Superposition,
        tilt: &TiltNorm,
        medium: &Medium,
    ) -> Self {
        let flat = beam::Field {
            machine,
            frame: &field.frame,
            fluence: &field.flat,
            electrons_gy: 0.0,
        };
        let FieldTables {
            field: card_field,
            numbers,
            ..
        } = FieldTables::new(&flat, beam, tilt, medium);
        let mut number_by_beamlet = vec![u32::MAX; field.map.values.len()];
        request
            .beamlets
            .iter()
            .enumerate()
            .for_each(|(n, beamlet)| number_by_beamlet[*beamlet] = n as u32);
        let columns = field.map.columns;
        let mut tables = Self {
            field: card_field,
            numbers,
            sides_mm: Vec::new(),
            sums: Vec::new(),
            asked: number_by_beamlet,
            places: request
                .beamlets
                .iter()
                .map(|beamlet| [beamlet / columns, beamlet % columns].map(|n| n as u32))
                .collect(),
            focal: Default::default(),
            wide: Default::default(),
            open_focal: field.beamlets.open_focal() as f32,
            source_mm: medium
                .grid
                .local_from_patient(field.frame.source_mm)
                .as_vec3()
                .to_array(),
        };
        tables.focal = field.beamlets.spans().map(|spans| tables.add(&spans));
        tables.wide = field.beamlets.wide_spans().map(|wide| SmoothSpans {
            electrons: tables.add(&wide.electrons),
            jaws_mm: wide.jaws_mm.map(|mm| mm as f32),
            jaw_distance_mm: wide.jaw_distance_mm as f32,
        });
        tables
    }

    fn add(&mut self, spans: &SpanTables<'_>) -> Spans {
        let card_spans = Spans {
            first_mm: spans.first_mm as f32,
            step_mm: spans.step_mm as f32,
            blur_mm: spans.blur_mm as f32,
            pixels: int(spans.pixels),
            spans: int(spans.sides_mm.len()),
            sides_at: int(self.sides_mm.len()),
            sums_at: int(self.sums.len()),
        };
        self.sides_mm
            .extend(spans.sides_mm.iter().flatten().map(|mm| *mm as f32));
        self.sums.extend(spans.sums.iter().copied().flatten());
        card_spans
    }

    pub fn upload(&self, card: &mut CardLock<'_>) -> Result<TablesOnCard, CudaError> {
        Ok(TablesOnCard {
            field: self.field,
            numbers: card.upload(&self.numbers)?,
            sides_mm: card.upload(&self.sides_mm)?,
            sums: card.upload(&self.sums)?,
            asked: card.upload(&self.asked)?,
            places: card.upload(&self.places)?,
            focal: self.focal,
            wide: self.wide,
            open_focal: self.open_focal,
            source_mm: self.source_mm,
        })
    }
}
