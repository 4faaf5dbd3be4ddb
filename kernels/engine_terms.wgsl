// What the kernels that transport energy along lines share: kernel coefficients of an angle, and the losses of a path.

// As in physics/kernel_fit.rs and engine/cccs/angles.rs.
const SLOWEST_PER_CM: f32 = 0.04;
const ANGLES: i32 = 97;
const STEP_DEG: f32 = 1.875;
// Vectors of a row of coefficients (engine/cccs/wgpu/superpose.rs).
const VECTORS: i32 = 7;

// A number for each term of a line: terms 0 to 3, 4 to 7, and 8.
struct Terms {
    first: vec4<f32>,
    second: vec4<f32>,
    last: f32,
}

// Where in the table an angle lies, in steps, by its cosine: Abramowitz and Stegun 4.4.45.
fn steps_of(cosine: f32) -> f32 {
    let x = min(abs(cosine), 1.0);
    let angle = sqrt(1.0 - x) * (1.5707288 + x * (-0.2121144 + x * (0.074261 + x * -0.0187293)));
    return select(angle, 3.14159265 - angle, cosine < 0.0) * (57.29577951 / STEP_DEG);
}

// State of each term at equilibrium with TERMA `t`: S / a, by a row of coefficients.
fn equilibrium_of(t: vec4<f32>, row: array<vec4<f32>, VECTORS>) -> Terms {
    var terms: Terms;
    terms.first = t.z * row[1] + t.w * row[2];
    terms.first.w += t.x * row[5].x + t.y * row[5].y;
    terms.second = t.x * row[3] + t.y * row[4];
    terms.second.x += t.z * row[5].z + t.w * row[5].w;
    terms.last = t.x * row[6].x + t.y * row[6].y;
    return terms;
}

// Part of each term's energy that a path loses: 1 - exp(-a tau). Decay constants double from term to term.
fn losses_of(tau: f32) -> Terms {
    let x = SLOWEST_PER_CM * tau;
    var loss: Terms;
    loss.first = vec4<f32>(x * (1.0 - x * 0.5 * (1.0 - x * (1.0 / 3.0) * (1.0 - x * 0.25))));
    loss.first.y = loss.first.x * (2.0 - loss.first.x);
    loss.first.z = loss.first.y * (2.0 - loss.first.y);
    loss.first.w = loss.first.z * (2.0 - loss.first.z);
    loss.second = vec4<f32>(loss.first.w * (2.0 - loss.first.w));
    loss.second.y = loss.second.x * (2.0 - loss.second.x);
    loss.second.z = loss.second.y * (2.0 - loss.second.y);
    loss.second.w = loss.second.z * (2.0 - loss.second.z);
    loss.last = loss.second.w * (2.0 - loss.second.w);
    return loss;
}

// Energy that each term gains on a path: a state moves towards equilibrium by its loss.
fn gains_of(loss: Terms, equilibrium: Terms, state: Terms) -> Terms {
    return Terms(
        loss.first * (equilibrium.first - state.first),
        loss.second * (equilibrium.second - state.second),
        loss.last * (equilibrium.last - state.last),
    );
}

fn sum_of(terms: Terms) -> f32 {
    return dot(terms.first, vec4<f32>(1.0)) + dot(terms.second, vec4<f32>(1.0)) + terms.last;
}

fn added(a: Terms, b: Terms) -> Terms {
    return Terms(a.first + b.first, a.second + b.second, a.last + b.last);
}
