//! Exponentials, logarithms and angles on Windows: the program brings its own, in place of msvcrt.dll's, whose last bits follow the
//! release of Windows. So a dose is the same on each of them, and what tests show under Wine, whose msvcrt.dll is another, holds there.

#![expect(
    unsafe_code,
    reason = "the linker takes functions of C by their names; each has the type and the meaning that C gives it"
)]

/// Functions of one number, under the names that Rust's library calls.
macro_rules! of_one_number {
    ($kind:ty: $($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(x: $kind) -> $kind {
            libm::$name(x)
        }
    )*};
}

/// The same of two numbers.
macro_rules! of_two_numbers {
    ($kind:ty: $($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(x: $kind, y: $kind) -> $kind {
            libm::$name(x, y)
        }
    )*};
}

/// Sine and cosine at once, which the compiler makes of the two.
#[unsafe(no_mangle)]
unsafe extern "C" fn sincos(x: f64, sine: *mut f64, cosine: *mut f64) {
    // SAFETY: C's function is given two places to write to.
    unsafe {
        sine.write(libm::sin(x));
        cosine.write(libm::cos(x));
    }
}

/// The same in single precision.
#[unsafe(no_mangle)]
unsafe extern "C" fn sincosf(x: f32, sine: *mut f32, cosine: *mut f32) {
    // SAFETY: as above.
    unsafe {
        sine.write(libm::sinf(x));
        cosine.write(libm::cosf(x));
    }
}

of_one_number!(f64: exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh cbrt);
of_one_number!(f32: expf expm1f logf log1pf log2f log10f sinf cosf tanf asinf acosf atanf sinhf coshf tanhf cbrtf);
of_two_numbers!(f64: pow atan2 hypot);
of_two_numbers!(f32: powf atan2f hypotf);

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    #[test]
    fn the_library_of_rust_calls_the_functions_of_this_program() {
        for n in 0..10_000 {
            let x = black_box(f64::from(n) * 1.37e-3 - 6.0);
            let positive = x.abs() + 1e-3;
            let pairs = [
                (x.exp(), libm::exp(x)),
                (x.exp_m1(), libm::expm1(x)),
                (positive.ln(), libm::log(positive)),
                (x.sin(), libm::sin(x)),
                (x.cos(), libm::cos(x)),
                (x.tan(), libm::tan(x)),
                (x.tanh(), libm::tanh(x)),
                (x.atan2(1.7), libm::atan2(x, 1.7)),
                (positive.powf(1.3), libm::pow(positive, 1.3)),
                (x.hypot(0.3), libm::hypot(x, 0.3)),
            ];
            for (n, (of_rust, of_program)) in pairs.into_iter().enumerate() {
                assert_eq!(of_rust.to_bits(), of_program.to_bits(), "pair {n} at {x}");
            }
            let x = x as f32;
            assert_eq!(x.exp().to_bits(), libm::expf(x).to_bits(), "{x}");
            assert_eq!(
                x.atan2(0.7).to_bits(),
                libm::atan2f(x, 0.7).to_bits(),
                "{x}"
            );
        }
    }
}
