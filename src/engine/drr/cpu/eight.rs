//! Eight trilinear samples at once, for processors with AVX2 and fused multiply-add: written out, because the compiler finds neither
//! the paired loads nor the shuffles that turn neighbours into lanes.

use super::block::Neighbours;
use super::trilinear::Samples;
use glam::Vec4;
use std::arch::x86_64::{
    __m256, _mm256_add_ps, _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_fmadd_ps,
    _mm256_permute_ps, _mm256_set_m128, _mm256_shuffle_ps, _mm256_sub_ps, _mm256_unpackhi_ps,
    _mm256_unpacklo_ps,
};

/// Adds samples to eight sums, lane by lane.
#[target_feature(enable = "avx,avx2,fma")]
pub(super) fn add(samples: &[Samples], neighbours: &impl Neighbours, sums: &mut [Vec4; 2]) {
    let mut sum = _mm256_set_m128(sums[1].into(), sums[0].into());
    for samples in samples {
        let part = |axis: usize| bytemuck::cast::<_, __m256>(samples.parts[axis]);
        let (x, y, z) = (part(0), part(1), part(2));
        // Of the samples `lane` and `lane + 4`: the values at (x, z) = (0, 0), (0, 1), (1, 0), (1, 1), between both rows.
        let between_rows = |lane: usize, y: __m256| {
            let [low, high] = neighbours.at(samples.places[lane]);
            let [low_4, high_4] = neighbours.at(samples.places[lane + 4]);
            let low = _mm256_set_m128(low_4.into(), low.into());
            let high = _mm256_set_m128(high_4.into(), high.into());
            between(low, high, y)
        };
        let a = between_rows(0, _mm256_permute_ps::<0b00_00_00_00>(y));
        let b = between_rows(1, _mm256_permute_ps::<0b01_01_01_01>(y));
        let c = between_rows(2, _mm256_permute_ps::<0b10_10_10_10>(y));
        let d = between_rows(3, _mm256_permute_ps::<0b11_11_11_11>(y));
        // Turned round: all samples' values at each (x, z).
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (at_00, at_01) = (low_pairs(ab, cd), high_pairs(ab, cd));
        let (ab, cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        let (at_10, at_11) = (low_pairs(ab, cd), high_pairs(ab, cd));
        sum = _mm256_add_ps(
            sum,
            between(between(at_00, at_01, z), between(at_10, at_11, z), x),
        );
    }
    *sums = [
        _mm256_castps256_ps128(sum).into(),
        _mm256_extractf128_ps::<1>(sum).into(),
    ];
}

#[target_feature(enable = "avx,avx2,fma")]
#[inline]
fn between(low: __m256, high: __m256, part: __m256) -> __m256 {
    _mm256_fmadd_ps(part, _mm256_sub_ps(high, low), low)
}

/// The first two of each four of `a`, then of `b`.
#[target_feature(enable = "avx,avx2,fma")]
#[inline]
fn low_pairs(a: __m256, b: __m256) -> __m256 {
    _mm256_shuffle_ps::<0b01_00_01_00>(a, b)
}

/// The last two.
#[target_feature(enable = "avx,avx2,fma")]
#[inline]
fn high_pairs(a: __m256, b: __m256) -> __m256 {
    _mm256_shuffle_ps::<0b11_10_11_10>(a, b)
}
