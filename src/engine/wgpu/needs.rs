//! Needs of the kernels that older graphics devices lack.

use super::error::WgpuError;

/// A limit of devices and the least value of it that serves every kernel.
struct Need {
    words: &'static str,
    least: u64,
    limit: fn(&wgpu::Limits) -> u64,
}

/// Buffers grow with voxels and are checked by the job that allocates them.
const NEEDS: [Need; 5] = [
    Need {
        words: "storage buffers of a kernel",
        least: 8,
        limit: |limits| limits.max_storage_buffers_per_shader_stage.into(),
    },
    Need {
        words: "bytes of memory of a workgroup",
        least: 7_520,
        limit: |limits| limits.max_compute_workgroup_storage_size.into(),
    },
    Need {
        words: "threads of a workgroup",
        least: 128,
        limit: |limits| limits.max_compute_invocations_per_workgroup.into(),
    },
    Need {
        words: "threads of a workgroup along an axis",
        least: 128,
        limit: |limits| limits.max_compute_workgroup_size_x.into(),
    },
    Need {
        words: "bytes of a uniform buffer",
        least: 96,
        limit: |limits| limits.max_uniform_buffer_binding_size,
    },
];

/// Whether a device of these limits runs every kernel.
///
/// # Errors
/// The first limit that is too low.
pub(super) fn check(device: &str, limits: &wgpu::Limits) -> Result<(), WgpuError> {
    for need in &NEEDS {
        let has = (need.limit)(limits);
        if has < need.least {
            return Err(WgpuError::Lacks {
                device: device.to_owned(),
                limit: need.words,
                least: need.least,
                has,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgpu::Kernel;
    use std::collections::BTreeSet;
    use std::path::Path;
    use wgpu::naga;

    fn kernels() -> Vec<&'static Kernel> {
        crate::WGSL_KERNELS.concat()
    }

    /// Amount that a kernel takes of each of [`NEEDS`], as naga, the compiler of wgpu, has it; it needs no feature beyond WebGPU's.
    fn taken(kernel: &Kernel) -> [u64; 5] {
        let source = kernel.sources.concat();
        let module = naga::front::wgsl::parse_str(&source)
            .unwrap_or_else(|why| panic!("{}: {}", kernel.name, why.emit_to_string(&source)));
        let mut validator = naga::valid::Validator::new(
            naga::valid::ValidationFlags::all(),
            naga::valid::Capabilities::empty(),
        );
        let checked = validator
            .validate(&module)
            .unwrap_or_else(|why| panic!("{}: {}", kernel.name, why.emit_to_string(&source)));
        let mut sizes = naga::proc::Layouter::default();
        sizes.update(module.to_ctx()).expect("sizes of types");
        let index = module
            .entry_points
            .iter()
            .position(|entry| entry.name == kernel.name)
            .expect(kernel.name);
        let uses = checked.get_entry_point(index);
        let (mut buffers, mut memory, mut uniform) = (0, 0, 0_u64);
        for (handle, variable) in module.global_variables.iter() {
            let bytes = u64::from(sizes[variable.ty].size);
            match variable.space {
                _ if uses[handle].is_empty() => {}
                naga::AddressSpace::Storage { .. } => buffers += 1,
                naga::AddressSpace::WorkGroup => memory += bytes.next_multiple_of(16),
                naga::AddressSpace::Uniform => uniform = uniform.max(bytes),
                _ => {}
            }
        }
        let [x, y, z] = module.entry_points[index].workgroup_size.map(u64::from);
        [buffers, memory, x * y * z, x.max(y).max(z), uniform]
    }

    #[test]
    fn each_kernel_takes_no_more_than_devices_are_asked_to_have() {
        let mut greatest = [0; 5];
        for kernel in kernels() {
            let values = taken(kernel);
            println!("{:20} {values:?}", kernel.name);
            greatest = std::array::from_fn(|n| u64::max(greatest[n], values[n]));
        }
        assert_eq!(greatest, NEEDS.map(|need| need.least));
    }

    #[test]
    fn every_entry_of_the_files_is_among_the_kernels() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
        let mut entries = BTreeSet::new();
        for file in std::fs::read_dir(folder).expect("kernels") {
            let path = file.expect("a file").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            if !name.starts_with("engine_") || !name.ends_with(".wgsl") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a text");
            let computed = text.split("@compute").skip(1);
            entries.extend(computed.map(|behind| {
                let head = behind.split("fn ").nth(1).expect("a function");
                head.split('(').next().expect("a name").to_owned()
            }));
        }
        let listed: BTreeSet<String> = kernels().iter().map(|k| k.name.to_owned()).collect();
        assert_eq!(entries, listed);
    }

    #[test]
    fn devices_of_webgpu_do_and_downlevel_ones_are_refused_in_words() {
        assert_eq!(check("wgpu:0 A", &wgpu::Limits::default()), Ok(()));
        let refused = check("wgpu:0 B", &wgpu::Limits::downlevel_defaults());
        let why = refused.expect_err("it has 4 storage buffers").to_string();
        assert!(why.contains("wgpu:0 B has 4 storage buffers"), "{why}");
        assert!(
            why.contains("needs 8") && why.contains("--device cpu"),
            "{why}"
        );
    }
}
