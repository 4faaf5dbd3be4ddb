//! A 4D CT under one series UID: images of several phases at the same positions, separated by their headers.

use super::catalogue::{Image, Series};
use super::object::{Attributes as _, Item};
use case::Remark;
use dicom_core::Tag;
use dicom_dictionary_std::tags;
use glam::DVec3;
use std::collections::HashSet;

/// Attributes that may separate phases, the clearest first, and the label of a phase (`{}` is the value).
const PHASE_TAGS: [(Tag, &str); 9] = [
    (
        tags::NOMINAL_PERCENTAGE_OF_RESPIRATORY_PHASE,
        "{} % of the breath",
    ),
    (
        tags::NOMINAL_PERCENTAGE_OF_CARDIAC_PHASE,
        "{} % of the heartbeat",
    ),
    (tags::TEMPORAL_POSITION_IDENTIFIER, "temporal position {}"),
    (tags::TEMPORAL_POSITION_INDEX, "temporal position {}"),
    (tags::TRIGGER_TIME, "{} ms after the trigger"),
    (tags::SERIES_DESCRIPTION, "{}"),
    (tags::ACQUISITION_NUMBER, "acquisition {}"),
    (tags::CONVOLUTION_KERNEL, "reconstruction {}"),
    (tags::ACQUISITION_TIME, "acquired at {}"),
];

/// Each phase covers at least this share of all positions; with less it is a scan in pieces, not a repeated
/// one.
const WHOLE: f64 = 0.8;

/// Planes nearer than this are at one position, mm.
const SAME_PLACE_MM: f64 = 0.01;

/// The values of [`PHASE_TAGS`] in an image, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Moment([Option<String>; PHASE_TAGS.len()]);

impl Moment {
    pub(super) fn read(item: &Item) -> Self {
        Self(PHASE_TAGS.map(|(tag, _)| item.text(tag)))
    }
}

/// The phases of a series, each a series by itself with its phase in the description; the series unchanged
/// where it has no phases, or no separable ones.
pub(super) fn split(series: Series, remarks: &mut Vec<Remark>) -> Vec<Series> {
    let places = (!series.multiframe).then(|| places_of(&series)).flatten();
    let parts = places.and_then(|places| {
        let count = places.iter().max().map_or(0, |last| last + 1);
        let repeated = count >= 2 && (series.images.len() as f64) >= (1.0 + WHOLE) * count as f64;
        repeated.then(|| {
            by_header(&series, &places, count).or_else(|| by_number(&series, &places, count))
        })?
    });
    let Some(parts) = parts else {
        return vec![series];
    };
    let count = parts.len();
    remarks.push(Remark::note(
        format!(
            "series {} holds {count} phases (several images at each place): each is listed by itself, choose the one to show",
            series.uid
        ),
        Vec::new(),
    ));
    parts
        .into_iter()
        .enumerate()
        .map(|(number, (name, images)): (usize, (String, Vec<Image>))| {
            let name = if name.is_empty() {
                name
            } else {
                format!(" ({name})")
            };
            let description = format!(
                "{} phase {} of {count}{name}",
                series.description,
                number + 1
            );
            let description = description.trim_start().to_owned();
            Series {
                description,
                planes: images.len(),
                images,
                ..series.clone()
            }
        })
        .collect()
}

/// The index of each image's position along the normal, from 0; `None` where the positions are unknown.
fn places_of(series: &Series) -> Option<Vec<usize>> {
    let [row, column] = series.orientation?;
    let normal: DVec3 = row.cross(column);
    let heights: Vec<f64> = series
        .images
        .iter()
        .map(|i| Some(i.position_mm?.dot(normal)))
        .collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]));
    let mut places = vec![0; heights.len()];
    for pair in order.windows(2) {
        let next = heights[pair[1]] - heights[pair[0]] >= SAME_PLACE_MM;
        places[pair[1]] = places[pair[0]] + usize::from(next);
    }
    Some(places)
}

/// Name and images of each phase.
type Parts = Vec<(String, Vec<Image>)>;

/// Phases by the first attribute whose values make whole scans.
fn by_header(series: &Series, places: &[usize], count: usize) -> Option<Parts> {
    PHASE_TAGS
        .iter()
        .enumerate()
        .find_map(|(tell, (_, words))| {
            let mut values: Vec<String> = series
                .images
                .iter()
                .map(|i: &Image| i.moment.0[tell].clone())
                .collect::<Option<_>>()?;
            values.sort_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(a), Ok(b)) => a.total_cmp(&b),
                _ => a.cmp(b),
            });
            values.dedup();
            // A single image is no phase; and a value for each image would make this slow.
            if values.len() < 2 || values.len() * 2 > series.images.len() {
                return None;
            }
            values
                .iter()
                .map(|wanted: &String| {
                    let mine: Vec<usize> = (0..places.len())
                        .filter(|i| series.images[*i].moment.0[tell].as_ref() == Some(wanted))
                        .collect();
                    let covered: HashSet<usize> = mine.iter().map(|i| places[*i]).collect();
                    let is_whole_scan =
                        covered.len() == mine.len() && covered.len() as f64 >= WHOLE * count as f64;
                    is_whole_scan.then(|| {
                        let images = mine.iter().map(|i| series.images[*i].clone()).collect();
                        (words.replace("{}", wanted), images)
                    })
                })
                .collect()
        })
}

/// Phases by instance number, where all positions have equally many images: the first of each position, the
/// second of each, ...
fn by_number(series: &Series, places: &[usize], count: usize) -> Option<Parts> {
    let mut images_by_place: Vec<Vec<&Image>> = vec![Vec::new(); count];
    for (image, place) in series.images.iter().zip(places) {
        images_by_place[*place].push(image);
    }
    let phases = images_by_place[0].len();
    let distinct: HashSet<&str> = series.images.iter().map(|i| i.sop_uid.as_str()).collect();
    let numbered = series.images.iter().all(|i| i.instance.is_some());
    if !numbered
        || distinct.len() < series.images.len()
        || images_by_place.iter().any(|images| images.len() != phases)
    {
        return None;
    }
    images_by_place
        .iter_mut()
        .for_each(|images| images.sort_by_key(|i| i.instance));
    Some(
        (0..phases)
            .map(|n| {
                (
                    String::new(),
                    images_by_place
                        .iter()
                        .map(|images| images[n].clone())
                        .collect(),
                )
            })
            .collect(),
    )
}
