//! Mutual information and rank correlation of DRRs that are on a card (`kernels/similarity.cu`).

use crate::cuda::{Arg, Buffer, CardLock, CudaError, Shape};
use crate::drr_gradient::information::{BINS, Information};
use crate::drr_gradient::rank::Rank;

/// Threads that share a pixel's rank, and threads of a block, as in the kernels.
const LANES: usize = 8;
const RANK_THREADS: usize = 256;
/// Rays of a view at most: the histogram's cells have 32 bits.
const MOST_RAYS: usize = 1 << 15;

/// X-rays on a card, view after view.
pub(super) struct Similarity {
    /// First ray of each view in the list of rays, and one past its last.
    views: Buffer<[u32; 2]>,
    /// Rays of the largest.
    most: usize,
    form: Form,
}

enum Form {
    Information(Buffer<f32>),
    Rank(Buffer<i32>, Vec<Rank>),
}

impl Similarity {
    pub fn information(card: &mut CardLock<'_>, views: &[&Information]) -> Result<Self, CudaError> {
        let (ranges, max_rays) = ranges(card, views.iter().map(|view| view.fixed().len()))?;
        let fixed: Vec<f32> = views
            .iter()
            .flat_map(|view| view.fixed())
            .copied()
            .collect();
        Ok(Self {
            views: ranges,
            most: max_rays,
            form: Form::Information(card.upload(&fixed)?),
        })
    }

    pub fn rank(card: &mut CardLock<'_>, views: &[&Rank]) -> Result<Self, CudaError> {
        let (ranges, max_rays) = ranges(card, views.iter().map(|view| view.fixed().len()))?;
        let fixed: Vec<i32> = views
            .iter()
            .flat_map(|view| view.fixed())
            .copied()
            .collect();
        let ranks = views.iter().map(|&view| view.clone()).collect();
        Ok(Self {
            views: ranges,
            most: max_rays,
            form: Form::Rank(card.upload(&fixed)?, ranks),
        })
    }

    /// The measure of each view at each pose, view after view, pose after pose; `None` where it is undefined.
    pub fn values(
        &self,
        card: &mut CardLock<'_>,
        integrals: &Buffer<f32>,
        rays: i32,
        poses: usize,
    ) -> Result<Vec<Option<f64>>, CudaError> {
        let views = self.views.count();
        let first = [
            Arg::from(integrals),
            Arg::value(&rays),
            Arg::from(&self.views),
        ];
        match &self.form {
            Form::Information(fixed) => {
                let out = card.alloc::<f64>(poses * views)?;
                let args: Vec<Arg> = first
                    .into_iter()
                    .chain([Arg::from(fixed), Arg::from(&out)])
                    .collect();
                let threads = [(BINS * BINS) as u32, 1, 1];
                let shape = Shape {
                    blocks: [views as u32, poses as u32, 1],
                    threads,
                };
                card.launch("similarity", "similarity_information", shape, &args)?;
                let values = card.download(&out)?;
                Ok(values
                    .into_iter()
                    .map(|value| value.is_finite().then_some(value))
                    .collect())
            }
            Form::Rank(fixed, ranks) => {
                let out = card.alloc::<[i64; 2]>(poses * views)?;
                card.fill(&out, 0)?;
                let args: Vec<Arg> = first
                    .into_iter()
                    .chain([Arg::from(fixed), Arg::from(&out)])
                    .collect();
                let blocks = (self.most * LANES).div_ceil(RANK_THREADS);
                let threads = [RANK_THREADS as u32, 1, 1];
                let shape = Shape {
                    blocks: [blocks as u32, views as u32, poses as u32],
                    threads,
                };
                card.launch("similarity", "similarity_ranks", shape, &args)?;
                let sums = card.download(&out)?;
                Ok(sums
                    .into_iter()
                    .zip(ranks.iter().cycle())
                    .map(|(sums, rank)| rank.value_of(sums))
                    .collect())
            }
        }
    }
}

/// First ray of each of the views, and one past its last, on the card, and the rays of the largest.
fn ranges(
    card: &mut CardLock<'_>,
    counts: impl Iterator<Item = usize> + Clone,
) -> Result<(Buffer<[u32; 2]>, usize), CudaError> {
    let max_rays = counts.clone().max().unwrap_or(0);
    if max_rays > MOST_RAYS {
        let what = format!("a view's list of {max_rays} pixels");
        return Err(CudaError::TooLarge {
            what,
            most: MOST_RAYS.to_string(),
        });
    }
    let mut end = 0;
    let ranges: Vec<[u32; 2]> = counts
        .map(|count| {
            let begin = end;
            end += count as u32;
            [begin, end]
        })
        .collect();
    Ok((card.upload(&ranges)?, max_rays))
}
