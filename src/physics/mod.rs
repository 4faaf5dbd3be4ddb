//! Why dose lands where it does: density, attenuation, spectrum, kernels, machine, fluence.
