// What the kernels of collapsed cone share: the unit of deposits, which are summed in integers.

// The greatest TERMA of all channels and the greatest density, as bits of floats (kernels/engine_terma.wgsl).
struct Greatest {
    terma: u32,
    density: u32,
}

// The unit is the greatest TERMA times a density over a 32-bit integer's range. That density is MOST_DOSE times the greatest, no less
// than LEAST_RANGE: low doses in water keep their resolution beside bone and metal.
const MOST_DOSE: f32 = 2.0;
const LEAST_RANGE: f32 = 8.0;
const RANGE: f32 = 2147483648.0;

fn unit_of(greatest: Greatest) -> f32 {
    return bitcast<f32>(greatest.terma) * max(bitcast<f32>(greatest.density) * MOST_DOSE, LEAST_RANGE) / RANGE;
}
