//! Solids as signed distances: the parts of a phantom. Negative inside, mm; exact for the simple ones and a
//! close bound near the surface for ellipsoids, which is sufficient for painting and outlining.

use glam::DVec3;

/// A solid and its bounding box.
pub struct Solid {
    pub low_mm: DVec3,
    pub high_mm: DVec3,
    distance: Box<dyn Fn(DVec3) -> f64 + Send + Sync>,
}

impl Solid {
    /// A solid by its signed distance (mm), entirely between `low_mm` and `high_mm`.
    pub fn new(
        low_mm: DVec3,
        high_mm: DVec3,
        distance: impl Fn(DVec3) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            low_mm,
            high_mm,
            distance: Box::new(distance),
        }
    }

    pub fn distance_mm(&self, p: DVec3) -> f64 {
        (self.distance)(p)
    }

    pub fn cuboid(low_mm: DVec3, high_mm: DVec3) -> Self {
        let (centre, half) = ((low_mm + high_mm) / 2.0, (high_mm - low_mm) / 2.0);
        Self::new(low_mm, high_mm, move |p| cuboid(p - centre, half))
    }

    pub fn ellipsoid(centre: DVec3, radii: DVec3) -> Self {
        Self::new(centre - radii, centre + radii, move |p| {
            ellipsoid(p - centre, radii)
        })
    }

    /// An upright cylinder (axis along z) from `z[0]` to `z[1]`.
    pub fn cylinder(centre_xy: [f64; 2], radius: f64, z: [f64; 2]) -> Self {
        Self::new(
            DVec3::new(centre_xy[0] - radius, centre_xy[1] - radius, z[0]),
            DVec3::new(centre_xy[0] + radius, centre_xy[1] + radius, z[1]),
            move |p| ((p.x - centre_xy[0]).hypot(p.y - centre_xy[1]) - radius).max(slab(p.z, z)),
        )
    }

    /// A round tube along a line of points, `radius` wide at each.
    pub fn tube(points: &[(DVec3, f64)]) -> Self {
        let mut low = DVec3::INFINITY;
        let mut high = DVec3::NEG_INFINITY;
        for &(p, r) in points {
            low = low.min(p - r);
            high = high.max(p + r);
        }
        let points = points.to_vec();
        Self::new(low, high, move |p| {
            points
                .windows(2)
                .map(|w| capsule(p, [w[0], w[1]]))
                .fold(f64::INFINITY, f64::min)
        })
    }
}

/// Distance to a box centred on the origin.
pub fn cuboid(p: DVec3, half: DVec3) -> f64 {
    let q = p.abs() - half;
    q.max(DVec3::ZERO).length() + q.max_element().min(0.0)
}

/// Distance to an ellipsoid centred on the origin: `k (k - 1) / |p / r²|` with `k = |p / r|`, accurate to
/// first order at the surface.
pub fn ellipsoid(p: DVec3, radii: DVec3) -> f64 {
    let k = (p / radii).length();
    let slope = (p / (radii * radii)).length();
    if slope < 1e-12 {
        -radii.min_element()
    } else {
        k * (k - 1.0) / slope
    }
}

/// Distance in a plane to an ellipse of power `n` (2: an ellipse; more: squarer), centred on the origin.
pub fn superellipse(x: f64, y: f64, radii: [f64; 2], n: f64) -> f64 {
    let (u, v) = ((x / radii[0]).abs(), (y / radii[1]).abs());
    let k = (u.powf(n) + v.powf(n)).powf(1.0 / n);
    if k < 1e-9 {
        return -radii[0].min(radii[1]);
    }
    let gradient = (u.powf(n - 1.0) / radii[0]).hypot(v.powf(n - 1.0) / radii[1]) * k.powf(1.0 - n);
    (k - 1.0) / gradient
}

/// Distance along z to a slab between `z[0]` and `z[1]`.
pub fn slab(z: f64, range: [f64; 2]) -> f64 {
    (range[0] - z).max(z - range[1])
}

/// Intersection of two solids with an edge rounded over about `r` mm.
pub fn smooth_max(a: f64, b: f64, r: f64) -> f64 {
    let h = (r - (a - b).abs()).max(0.0) / r;
    a.max(b) + h * h * r * 0.25
}

/// Smooth step from 0 (at or below `low`) to 1 (at or above `high`).
pub fn ramp(x: f64, low: f64, high: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Distance of a point from two balls (middle and radius) with the cone between them.
fn capsule(p: DVec3, ends: [(DVec3, f64); 2]) -> f64 {
    let [(a, ra), (b, rb)] = ends;
    let along = b - a;
    let t = ((p - a).dot(along) / along.length_squared().max(1e-12)).clamp(0.0, 1.0);
    (p - (a + along * t)).length() - (ra + (rb - ra) * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_near_surfaces() {
        let r = DVec3::new(30.0, 20.0, 50.0);
        // On the axes the exact distance to the surface is known.
        for (p, want) in [
            (DVec3::new(31.0, 0.0, 0.0), 1.0),
            (DVec3::new(0.0, 19.0, 0.0), -1.0),
            (DVec3::new(0.0, 0.0, 50.5), 0.5),
        ] {
            assert!(
                (ellipsoid(p, r) - want).abs() < 0.06,
                "{p}: {}",
                ellipsoid(p, r)
            );
        }
        assert!((superellipse(0.0, 101.0, [150.0, 100.0], 2.6) - 1.0).abs() < 1e-9);
        // A power of 2 is an ellipse; on its 45 degree direction the surface is at r / sqrt(2) each.
        let on = superellipse(30.0 / 2f64.sqrt(), 20.0 / 2f64.sqrt(), [30.0, 20.0], 2.0);
        assert!(on.abs() < 1e-9, "{on}");
        assert_eq!(
            cuboid(DVec3::new(13.0, 4.0, 0.0), DVec3::new(10.0, 0.0, 5.0)),
            5.0
        );
        let tube = Solid::tube(&[(DVec3::ZERO, 2.0), (DVec3::new(0.0, 0.0, 10.0), 4.0)]);
        assert!((tube.distance_mm(DVec3::new(5.0, 0.0, 5.0)) - 2.0).abs() < 1e-12);
        assert_eq!(tube.high_mm, DVec3::new(4.0, 4.0, 14.0));
    }
}
