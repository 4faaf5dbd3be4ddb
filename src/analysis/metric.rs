//! The value of a metric in a DVH: for every figure its definition.

use super::Dvh;
use case::{Figure, Metric, MetricUnit};
use thiserror::Error;

/// Why a metric has no value in a DVH.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum NoValue {
    #[error("it needs the prescription (the 100 % dose), and none is known")]
    NoHundred,
    #[error("the structure has {has:.3} cm3 with a dose, less than {cm3} cm3")]
    Smaller { has: f64, cm3: f64 },
    #[error("{0}")]
    Undefined(&'static str),
}

impl Dvh {
    /// The metric in its own unit; `hundred_gy`: the 100 % dose, which is the prescription where the
    /// plan has one.
    ///
    /// # Errors
    /// [`NoValue`].
    pub fn metric(&self, metric: Metric, hundred_gy: Option<f64>) -> Result<f64, NoValue> {
        let hundred_gy = hundred_gy.filter(|gy| *gy > 0.0);
        let value = figure(
            metric.figure(),
            self,
            metric.number().unwrap_or_default(),
            hundred_gy,
        )?;
        Ok(
            match (metric.units().contains(&MetricUnit::Cm3), metric.unit()) {
                (false, MetricUnit::Percent) => {
                    100.0 * value / hundred_gy.ok_or(NoValue::NoHundred)?
                }
                (true, MetricUnit::Percent) => 100.0 * value / self.cm3_at(self.min_gy()),
                _ => value,
            },
        )
    }

    /// The least and the greatest value of the metric in the whole structure, whatever the dose is where none is known: at
    /// least 0, and without a limit. Both are the value where all of the structure has a dose.
    ///
    /// # Errors
    /// [`NoValue`].
    pub fn metric_bounds(
        &self,
        metric: Metric,
        hundred_gy: Option<f64>,
    ) -> Result<[f64; 2], NoValue> {
        let value = self.metric(metric, hundred_gy)?;
        let (total, unknown) = (self.whole_cm3(), self.without_dose_cm3());
        if unknown <= 0.0 {
            return Ok([value; 2]);
        }
        let hundred_gy = hundred_gy.filter(|gy| *gy > 0.0);
        let known_cm3 = total - unknown;
        // All of the unknown volume at 0 Gy, and all of it above any dose.
        let hottest = |cm3: f64| {
            let low = if cm3 < known_cm3 {
                self.dose_at_cm3(cm3)
            } else {
                self.min_gy().min(0.0)
            };
            [
                low,
                if cm3 > unknown {
                    self.dose_at_cm3(cm3 - unknown)
                } else {
                    f64::INFINITY
                },
            ]
        };
        let reached = |gy: f64| {
            if gy > 0.0 {
                [self.cm3_at(gy), self.cm3_at(gy) + unknown]
            } else {
                [total; 2]
            }
        };
        let number = metric.number().unwrap_or_default();
        let bounds = match metric.figure() {
            Figure::Least => [self.min_gy().min(0.0), self.min_gy()],
            Figure::Mean => [self.mean_gy() * known_cm3 / total, f64::INFINITY],
            Figure::Greatest => [self.max_gy(), f64::INFINITY],
            Figure::DoseAtPercent => hottest(number / 100.0 * total),
            Figure::DoseAtCm3 => hottest(number),
            Figure::VolumeAtGy => reached(number),
            Figure::VolumeAtPercent => {
                reached(0.01 * number * hundred_gy.ok_or(NoValue::NoHundred)?)
            }
            Figure::Conformity => return Ok([0.0, 1.0]),
            Figure::Homogeneity => return Ok([0.0, f64::INFINITY]),
            Figure::EquivalentUniformDose => {
                let gy = self.geud_gy(number).unwrap_or_default()
                    * (known_cm3 / total).powf(number.recip());
                match number {
                    a if a > 0.0 => [gy, f64::INFINITY],
                    a if a < 0.0 => [0.0, gy],
                    _ => [0.0, f64::INFINITY],
                }
            }
        };
        Ok(
            match (metric.units().contains(&MetricUnit::Cm3), metric.unit()) {
                (false, MetricUnit::Percent) => {
                    let percent = 100.0 / hundred_gy.ok_or(NoValue::NoHundred)?;
                    bounds.map(|gy| percent * gy)
                }
                (true, MetricUnit::Percent) => bounds.map(|cm3| 100.0 * cm3 / total),
                _ => bounds,
            },
        )
    }
}

/// A figure of a DVH with its number and the 100 % dose in Gy: in Gy, cm3 or as a ratio.
fn figure(figure: Figure, dvh: &Dvh, number: f64, hundred_gy: Option<f64>) -> Result<f64, NoValue> {
    let hundred_gy = hundred_gy.ok_or(NoValue::NoHundred);
    Ok(match figure {
        Figure::Least => dvh.min_gy(),
        Figure::Mean => dvh.mean_gy(),
        Figure::Greatest => dvh.max_gy(),
        Figure::DoseAtPercent => dvh.dose_at_percent(number),
        Figure::DoseAtCm3 => {
            let (has, cm3) = (dvh.cm3_at(dvh.min_gy()), number);
            if cm3 <= has {
                dvh.dose_at_cm3(cm3)
            } else {
                return Err(NoValue::Smaller { has, cm3 });
            }
        }
        Figure::VolumeAtGy => dvh.cm3_at(number),
        Figure::VolumeAtPercent => dvh.cm3_at(0.01 * number * hundred_gy?),
        Figure::Conformity => {
            let hundred_gy = hundred_gy?;
            let low = NoValue::Undefined(
                "the dose is a preview, or the 100 % dose less than a quarter of the greatest: its isodose is not counted",
            );
            let isodose_cm3 = dvh.isodose_cm3(hundred_gy).ok_or(low)?;
            let covered_cm3 = dvh.cm3_at(hundred_gy);
            // Inside and whole are sampled separately: the part inside may be a little larger than the whole.
            let isodose_cm3 = isodose_cm3.max(covered_cm3);
            if isodose_cm3 <= 0.0 {
                return Err(NoValue::Undefined("the 100 % dose is reached nowhere"));
            }
            covered_cm3 * covered_cm3 / (dvh.volume_cm3() * isodose_cm3)
        }
        Figure::Homogeneity => {
            let [d2, d50, d98] = [2.0, 50.0, 98.0].map(|percent| dvh.dose_at_percent(percent));
            if d50 <= 0.0 {
                return Err(NoValue::Undefined("D50% is not above 0 Gy"));
            }
            (d2 - d98) / d50
        }
        Figure::EquivalentUniformDose => dvh
            .geud_gy(number)
            .ok_or(NoValue::Undefined("doses below 0 Gy have no gEUD"))?,
    })
}

#[cfg(test)]
pub(super) mod tests;
