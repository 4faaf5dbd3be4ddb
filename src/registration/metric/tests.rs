use super::*;

const SIZE: [usize; 2] = [24, 18];

fn noise(seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..SIZE[0] * SIZE[1])
        .map(|_| random.normal() as f32)
        .collect()
}

/// A smooth picture with some grain.
fn picture(seed: u64) -> Vec<f32> {
    noise(seed)
        .iter()
        .enumerate()
        .map(|(n, v)| {
            3.0 + (((n % SIZE[0]) as f32 * 0.4).sin() + ((n / SIZE[0]) as f32 * 0.3).cos())
                + 0.2 * v
        })
        .collect()
}

fn similarity(metric: Metric, fixed: &[f32]) -> Similarity {
    let mask = vec![true; fixed.len()];
    Similarity::new(
        metric,
        Picture {
            size: SIZE,
            values: fixed,
            mask: &mask,
        },
        Sample::ALL,
    )
    .unwrap()
}

fn taken(similarity: &Similarity, picture: &[f32]) -> Vec<f32> {
    similarity
        .pixels()
        .iter()
        .map(|&n| picture[n as usize])
        .collect()
}

fn value(metric: Metric, fixed: &[f32], drr: &[f32]) -> f64 {
    let similarity = similarity(metric, fixed);
    similarity.value(&taken(&similarity, drr)).unwrap()
}

/// Pearson's correlation straight from its definition.
fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let (ma, mb) = (mean(a), mean(b));
    let cross: f64 = a.iter().zip(b).map(|(x, y)| (x - ma) * (y - mb)).sum();
    cross / (squared_deviations(a, ma) * squared_deviations(b, mb)).sqrt()
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

fn squared_deviations(v: &[f64], m: f64) -> f64 {
    v.iter().map(|x| (x - m).powi(2)).sum::<f64>()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

#[test]
fn correlations_are_those_of_their_definitions() {
    let (a, b) = (picture(1), picture(2));
    assert!((value(Metric::Ncc, &a, &b) - pearson(&wide(&a), &wide(&b))).abs() < 1e-6);
    let (ax, bx) = (central_differences(&a, 1), central_differences(&b, 1));
    let (ay, by) = (
        central_differences(&a, SIZE[0]),
        central_differences(&b, SIZE[0]),
    );
    let want = 0.5 * (pearson(&ax, &bx) + pearson(&ay, &by));
    assert!((value(Metric::GradientCorrelation, &a, &b) - want).abs() < 1e-6);
    let want = pearson(&[ax, ay].concat(), &[bx, by].concat());
    assert!((value(Metric::GradientNcc, &a, &b) - want).abs() < 1e-6);
    // Patches of 4 x 3 pixels, all of the same size: the plain mean.
    let mut sum = 0.0;
    for patch in 0..36 {
        let (i0, j0) = (patch % 6 * 4, patch / 6 * 3);
        let part = |p: &[f32]| -> Vec<f64> {
            (0..12)
                .map(|n| f64::from(p[(j0 + n / 4) * SIZE[0] + i0 + n % 4]))
                .collect()
        };
        sum += pearson(&part(&a), &part(&b)) / 36.0;
    }
    assert!((value(Metric::LocalNcc, &a, &b) - sum).abs() < 1e-5);
}

fn central_differences(p: &[f32], step: usize) -> Vec<f64> {
    (0..p.len())
        .filter(|n: &usize| {
            let (i, j) = (n % SIZE[0], n / SIZE[0]);
            i > 0 && j > 0 && i + 1 < SIZE[0] && j + 1 < SIZE[1]
        })
        .map(|n| f64::from(p[n + step]) - f64::from(p[n - step]))
        .collect()
}

#[test]
fn a_picture_is_most_like_itself() {
    let a = picture(1);
    for metric in Metric::ALL {
        let self_match = value(metric, &a, &a);
        assert!(
            self_match > 1.5 * value(metric, &a, &noise(2)).max(0.0),
            "{metric}: {self_match}"
        );
        if metric != Metric::MutualInformation {
            assert!((self_match - 1.0).abs() < 1e-5, "{metric}: {self_match}");
        }
    }
}

#[test]
fn gain_and_offset_change_nothing() {
    let (a, b) = (picture(1), picture(2));
    let other: Vec<f32> = b.iter().map(|v| 7.5 * v - 20.0).collect();
    for metric in Metric::ALL {
        let (original, after) = (value(metric, &a, &b), value(metric, &a, &other));
        assert!(
            (original - after).abs() < 2e-4 * original.abs().max(0.1),
            "{metric}: {original} became {after}"
        );
    }
    // The local metric also ignores an offset of each patch.
    let stepped: Vec<f32> = b
        .iter()
        .enumerate()
        .map(|(n, v)| v + (n % SIZE[0] / 4) as f32 - 2.0 * (n / SIZE[0] / 3) as f32)
        .collect();
    let (original, after) = (
        value(Metric::LocalNcc, &a, &b),
        value(Metric::LocalNcc, &a, &stepped),
    );
    assert!((original - after).abs() < 1e-4, "{original} became {after}");
    assert!((value(Metric::Ncc, &a, &b) - value(Metric::Ncc, &a, &stepped)).abs() > 0.1);
}

#[test]
fn rank_correlation_is_blind_to_rising_maps_and_counts_ties() {
    let (a, b) = (picture(1), picture(2));
    let other: Vec<f32> = b.iter().map(|v| v.exp()).collect();
    let both = [
        value(Metric::RankCorrelation, &a, &b),
        value(Metric::RankCorrelation, &a, &other),
    ];
    assert_eq!(both[0], both[1]);
    let falling: Vec<f32> = a.iter().map(|v| (-v).exp()).collect();
    assert!((value(Metric::RankCorrelation, &a, &falling) + 1.0).abs() < 1e-5);
    // A worked example with ties: ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4 correlate as 4.5 / sqrt(4.5 * 5).
    let rank = Rank::new(&[10.0, 20.0, 20.0, 30.0]).unwrap();
    let got = rank.value(&[1.0, 3.0, 2.0, 4.0]).unwrap();
    assert!((got - 4.5 / (4.5f64 * 5.0).sqrt()).abs() < 1e-6, "{got}");
}

#[test]
fn mutual_information_of_independent_pictures_is_nearly_nothing() {
    let mut random = Random::new(5);
    let mut many = || -> Vec<f32> { (0..400_000).map(|_| random.unit() as f32).collect() };
    let (a, b) = (many(), many());
    let information = Information::new(&a).unwrap();
    // Chance alone gives about (bins - 1)^2 / 2n, less the smoothing of shared bins.
    let independent = information.value(&b).unwrap();
    assert!((0.0..0.002).contains(&independent), "{independent}");
    // With itself: the entropy of evenly filled bins less the loss to shared bins, near ln 31.
    let self_information = information.value(&a).unwrap();
    assert!(
        self_information > 2.5 && self_information < 31f64.ln(),
        "{self_information}"
    );
    // A falling map of grey values is as good as a rising one.
    let falling: Vec<f32> = a.iter().map(|v| 1.0 - v).collect();
    assert!((information.value(&falling).unwrap() - self_information).abs() < 1e-3);
}

#[test]
fn what_has_one_value_is_undefined() {
    let a = picture(1);
    let mask = vec![true; a.len()];
    for metric in Metric::ALL {
        let flat = vec![2.5; a.len()];
        let likeness_of = |values: &[f32], mask: &[bool]| {
            Similarity::new(
                metric,
                Picture {
                    size: SIZE,
                    values,
                    mask,
                },
                Sample::ALL,
            )
            .map(|_| ())
        };
        assert_eq!(
            likeness_of(&flat, &mask),
            Err(MetricError::Flat),
            "{metric}"
        );
        assert_eq!(
            likeness_of(&a, &vec![false; a.len()]),
            Err(MetricError::NoPixels),
            "{metric}"
        );
        let similarity = similarity(metric, &a);
        assert_eq!(
            similarity.value(&taken(&similarity, &flat)),
            None,
            "{metric}"
        );
    }
}

#[test]
fn only_pixels_of_the_mask_and_the_sample_count() {
    let a = picture(1);
    let mut b = picture(2);
    let mask: Vec<bool> = (0..a.len()).map(|n| n % SIZE[0] < 12).collect();
    for metric in Metric::ALL {
        let picture = Picture {
            size: SIZE,
            values: &a,
            mask: &mask,
        };
        let similarity = Similarity::new(metric, picture, Sample::ALL).unwrap();
        let without_hole = similarity.value(&taken(&similarity, &b));
        b.iter_mut()
            .enumerate()
            .filter(|(n, _)| !mask[*n])
            .for_each(|(_, v)| *v = 1e3);
        assert_eq!(
            without_hole,
            similarity.value(&taken(&similarity, &b)),
            "{metric}"
        );
        let part = Similarity::new(
            metric,
            picture,
            Sample {
                share: 0.5,
                seed: 1,
            },
        )
        .unwrap();
        let share = part.pixels().len() as f64 / mask.iter().filter(|m| **m).count() as f64;
        assert!((0.3..0.55).contains(&share), "{metric}: {share}");
        assert!(part.pixels().iter().all(|&n| mask[n as usize]), "{metric}");
    }
}

/// Finite differences of the value along each of six synthetic directions.
#[test]
fn slopes_are_those_of_finite_differences() {
    let fixed = picture(1);
    let drr = wide(&picture(2));
    let ways: Vec<Vec<f32>> = (10..16).map(picture).collect();
    for metric in Metric::ALL.into_iter().filter(|m| m.has_gradient()) {
        let similarity = similarity(metric, &fixed);
        let correlation = similarity.correlation().unwrap();
        let drr_at = |steps: [f64; 6]| -> Vec<f32> {
            let moved = |n: usize| {
                drr[n]
                    + (0..6)
                        .map(|a| steps[a] * f64::from(ways[a][n]))
                        .sum::<f64>()
            };
            similarity
                .pixels()
                .iter()
                .map(|&n| moved(n as usize) as f32)
                .collect()
        };
        let derivatives: Vec<Vec<f32>> = ways.iter().map(|w| taken(&similarity, w)).collect();
        let slices = std::array::from_fn(|a| derivatives[a].as_slice());
        let at_pose = correlation.at_pose(&drr_at([0.0; 6]), &slices).unwrap();
        assert!((at_pose.value - similarity.value(&drr_at([0.0; 6])).unwrap()).abs() < 1e-12);
        for a in 0..6 {
            let mut step = [0.0; 6];
            step[a] = 1e-2;
            let up = similarity.value(&drr_at(step)).unwrap();
            let down = similarity.value(&drr_at(step.map(|s| -s))).unwrap();
            let want = (up - down) / 2e-2;
            assert!(
                (at_pose.gradient[a] - want).abs() < 1e-3,
                "{metric} {a}: {} {want}",
                at_pose.gradient[a]
            );
        }
        // At a perfect match the Gauss-Newton matrix is the full curvature: -d2(value).
        let model = correlation
            .at_pose(&taken(&similarity, &fixed), &slices)
            .unwrap();
        let along = |step: f64| {
            let moved: Vec<f32> = fixed
                .iter()
                .zip(&ways[0])
                .map(|(f, w)| f + step as f32 * w)
                .collect();
            similarity.value(&taken(&similarity, &moved)).unwrap()
        };
        let curvature = (along(0.05) - 2.0 * along(0.0) + along(-0.05)) / 0.05f64.powi(2);
        let matrix = model.matrix[0][0];
        assert!(
            (matrix + curvature).abs() < 0.05 * matrix,
            "{metric}: {matrix} {curvature}"
        );
    }
}
