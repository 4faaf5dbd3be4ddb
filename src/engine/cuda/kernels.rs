//! The embedded kernels: PTX that `python3 .ci/compile_kernels.py` makes of `kernels/*.cu`.

use super::error::CudaError;

/// Every source, by its name, and its PTX.
// For compute_52: PTX for compute_90 is no faster.
const SOURCES: [(&str, &str); 15] = [
    ("cccs", include_str!("../../../kernels/ptx/cccs.ptx")),
    ("drr", include_str!("../../../kernels/ptx/drr.ptx")),
    ("gamma", include_str!("../../../kernels/ptx/gamma.ptx")),
    (
        "influence",
        include_str!("../../../kernels/ptx/influence.ptx"),
    ),
    (
        "influence_lit",
        include_str!("../../../kernels/ptx/influence_lit.ptx"),
    ),
    (
        "influence_smooth",
        include_str!("../../../kernels/ptx/influence_smooth.ptx"),
    ),
    ("layout", include_str!("../../../kernels/ptx/layout.ptx")),
    (
        "similarity",
        include_str!("../../../kernels/ptx/similarity.ptx"),
    ),
    ("mc", include_str!("../../../kernels/ptx/mc.ptx")),
    ("tally", include_str!("../../../kernels/ptx/tally.ptx")),
    ("mccs", include_str!("../../../kernels/ptx/mccs.ptx")),
    (
        "correction",
        include_str!("../../../kernels/ptx/correction.ptx"),
    ),
    ("path", include_str!("../../../kernels/ptx/path.ptx")),
    ("terma", include_str!("../../../kernels/ptx/terma.ptx")),
    (
        "drr_gradient",
        include_str!("../../../kernels/ptx/drr_gradient.ptx"),
    ),
];

/// The PTX of `kernels/NAME.cu`.
pub(crate) fn ptx(source: &str) -> Result<&'static str, CudaError> {
    SOURCES
        .iter()
        .find(|(name, _)| *name == source)
        .map(|(_, ptx)| *ptx)
        .ok_or_else(|| CudaError::Call {
            kernel: source.to_owned(),
            what: "the program has no such source".to_owned(),
        })
}

/// The sizes in bytes of a kernel's arguments, as its PTX declares them; `None` where it has no such kernel.
pub fn signature(ptx: &str, kernel: &str) -> Option<Vec<usize>> {
    let entry = format!(".entry {kernel}(");
    let after = &ptx[ptx.find(&entry)? + entry.len()..];
    let declared = &after[..after.find(')')?];
    declared
        .split(',')
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .map(size_of_parameter)
        .collect()
}

/// `.param .u64 name` or `.param .align 4 .b8 name[132]`.
fn size_of_parameter(declared: &str) -> Option<usize> {
    let kind = declared
        .split_whitespace()
        .rfind(|word| word.starts_with('.'))?;
    let bits: usize = kind
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .ok()?;
    let count = declared
        .split_once('[')
        .map_or(Some(1), |(_, n)| n.trim_end_matches(']').parse().ok())?;
    Some(bits / 8 * count)
}

/// The number that sources give a constant: `NAME = 3.5f;`.
#[cfg(test)]
pub(crate) fn constant(sources: &[&str], name: &str) -> f64 {
    let written = format!(" {name} = ");
    let after = sources
        .iter()
        .find_map(|source| Some(source.split_once(&written)?.1));
    let value = after.and_then(|after| after.split(';').next());
    value
        .and_then(|value| value.trim_end_matches(['f', 'u']).parse().ok())
        .unwrap_or_else(|| panic!("no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_read_from_ptx() {
        let text = "
.visible .entry walk_all(
\t.param .align 8 .b8 walk_all_param_0[24],
\t.param .u64 walk_all_param_1,
\t.param .f32 walk_all_param_2
)
.maxntid 256, 1, 1
.visible .entry walk(
)";
        assert_eq!(signature(text, "walk_all"), Some(vec![24, 8, 4]));
        assert_eq!(signature(text, "walk"), Some(vec![]));
        assert_eq!(signature(text, "wal"), None);
    }

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_path_kernels_are_called_as_declared() {
        let ptx = ptx("path").unwrap();
        assert_eq!(
            signature(ptx, "path_step"),
            Some(vec![size_of::<crate::path::cuda::Rays>(), 8, 8])
        );
        assert_eq!(
            signature(ptx, "path_columns"),
            Some(vec![size_of::<crate::path::cuda::Rays>(), 8, 4, 8])
        );
        assert_eq!(signature(ptx, "path_edges"), Some(vec![8, 4, 4, 4, 8]));
        assert_eq!(signature(ptx, "path_matter"), Some(vec![8, 4, 4, 4, 8]));
        assert_eq!(signature(ptx, "path_orient"), Some(vec![8, 4, 4, 4, 4, 8]));
        assert!(super::ptx("no such").is_err());
    }

    #[test]
    fn the_slopes_kernels_are_called_as_declared() {
        let ptx = ptx("drr_gradient").unwrap();
        let scene = size_of::<crate::drr_gradient::cuda::CardScene>();
        assert_eq!(
            signature(ptx, "drr_integrals"),
            Some(vec![scene, 8, 8, 8, 8])
        );
        assert_eq!(
            signature(ptx, "drr_gradients"),
            Some(vec![scene, 8, 8, 8, 8, 8])
        );
        assert_eq!(signature(ptx, "drr_sums"), Some(vec![8, 4, 8, 8, 4, 8]));
        assert_eq!(signature(ptx, "drr_products"), Some(vec![8, 4, 8, 8, 4, 8]));
    }

    #[test]
    fn the_drr_kernels_are_called_as_declared() {
        use crate::drr::cuda::{CardImage, CardPlanes, CardSpace, PixelRegion};
        let ptx = ptx("drr").unwrap();
        let [space, wanted] = [size_of::<CardSpace>(), size_of::<PixelRegion>()];
        assert_eq!((space, wanted, size_of::<CardImage>()), (96, 24, 96));
        let planes = size_of::<CardPlanes>();
        for values in ["texture", "voxels"] {
            for lanes in ["one", "eight", "one_uneven", "eight_uneven"] {
                let name = format!("drr_{values}_{lanes}");
                assert_eq!(
                    signature(ptx, &name),
                    Some(vec![space, wanted, 8, 8, planes, 8, 8, 8]),
                    "{name}"
                );
            }
        }
        let grid = size_of::<crate::cuda::grid::WalkGrid>();
        assert_eq!(
            signature(ptx, "drr_exact"),
            Some(vec![grid, space, wanted, 8, 8, 8, 8])
        );
    }
}
