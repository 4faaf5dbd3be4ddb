//! A volume as a three-dimensional texture: texels of 16 bits, read as fractions, filtered by the card (Tornai 2012, rules 1
//! and 2).

use crate::cuda::error::is_out_of_memory;
use crate::cuda::{CardLock, CudaError, Resident};
use crate::drr::content::Content;
use cudarc::driver::{CudaContext, DriverError, sys};
use geometry::Volume;
use rayon::prelude::*;
use std::ffi::c_void;
use std::mem::{size_of, zeroed};
use std::ptr;
use std::sync::Arc;

/// A texture and the array it reads.
pub(super) struct Texture {
    context: Arc<CudaContext>,
    /// The driver's handle, an address.
    array: usize,
    pub object: u64,
    /// Attenuation of a full-scale texel.
    pub value: f32,
    bytes: usize,
}

impl Resident for Texture {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Texture {
    /// Copies a volume to the card. 0 maps to 0; the value of largest magnitude is full scale, others are rounded to
    /// 65535ths of it (32767ths where there are values below 0).
    pub fn new(
        card: &mut CardLock<'_>,
        volume: &Volume<f32>,
        content: &Content,
    ) -> Result<Self, CudaError> {
        let [low, high] = content.range;
        let value = high.max(-low);
        let per_value = if value > 0.0 {
            f64::from(value).recip()
        } else {
            0.0
        };
        let (format, texels): (_, Vec<u16>) = if low < 0.0 {
            (
                sys::CUarray_format_enum::CU_AD_FORMAT_SIGNED_INT16,
                volume
                    .data()
                    .par_iter()
                    .map(|v| ((f64::from(*v) * per_value * 32767.0).round() as i16).cast_unsigned())
                    .collect(),
            )
        } else {
            (
                sys::CUarray_format_enum::CU_AD_FORMAT_UNSIGNED_INT16,
                volume
                    .data()
                    .par_iter()
                    .map(|v| (f64::from(*v) * per_value * 65535.0).round() as u16)
                    .collect(),
            )
        };
        let size = volume.grid().size();
        let array = take_array(card, size, format)?;
        // From here on dropping it gives the array back.
        let mut texture = Self {
            context: Arc::clone(card.context()),
            array: array as usize,
            object: 0,
            value,
            bytes: texels.len() * size_of::<u16>(),
        };
        fill(card, array, size, &texels)?;
        texture.object = object(card, array)?;
        Ok(texture)
    }
}

impl Drop for Texture {
    #[expect(
        unsafe_code,
        reason = "cuTexObjectDestroy and cuArrayDestroy of what this owns"
    )]
    fn drop(&mut self) {
        // Kernels that read the texture must have ended.
        let waited = self
            .context
            .bind_to_thread()
            .and_then(|()| self.context.synchronize());
        // SAFETY: both were made by this context, are given back once, and nothing is running.
        let destroyed = waited.and_then(|()| unsafe {
            if self.object != 0 {
                sys::cuTexObjectDestroy(self.object).result()?;
            }
            sys::cuArrayDestroy(self.array as sys::CUarray).result()
        });
        if let Err(error) = destroyed {
            tracing::warn!("a texture was not given back: {error:?}");
        }
    }
}

#[expect(unsafe_code, reason = "cuArray3DCreate; the caller owns what it gives")]
fn take_array(
    card: &mut CardLock<'_>,
    [width, height, depth]: [usize; 3],
    format: sys::CUarray_format,
) -> Result<sys::CUarray, CudaError> {
    let wanted = sys::CUDA_ARRAY3D_DESCRIPTOR_st {
        Width: width,
        Height: height,
        Depth: depth,
        Format: format,
        NumChannels: 1,
        Flags: 0,
    };
    loop {
        let mut array = ptr::null_mut();
        let bound = card.context().bind_to_thread();
        // SAFETY: description and handle outlive the call, the context is current.
        let taken = bound.and_then(|()| {
            unsafe { sys::cuArray3DCreate_v2(&raw mut array, &raw const wanted) }.result()
        });
        match taken {
            Ok(()) => return Ok(array),
            Err(error) if is_out_of_memory(error) && card.make_room() => {}
            Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)) => {
                let what = format!("a texture of {width} x {height} x {depth}");
                return Err(CudaError::TooLarge {
                    what,
                    most: "16384 to a side".to_owned(),
                });
            }
            Err(error) => return Err(card.failed("taking a texture")(error)),
        }
    }
}

#[expect(
    unsafe_code,
    reason = "cuMemcpy3DAsync of as many texels as the array has"
)]
fn fill(
    card: &CardLock<'_>,
    array: sys::CUarray,
    [width, height, depth]: [usize; 3],
    texels: &[u16],
) -> Result<(), CudaError> {
    let row = width * size_of::<u16>();
    debug_assert_eq!(texels.len(), width * height * depth);
    // SAFETY: all fields may be zero: numbers, null pointers, host and array memory are set below.
    let mut copy: sys::CUDA_MEMCPY3D_st = unsafe {
        let mut copy = std::mem::MaybeUninit::<sys::CUDA_MEMCPY3D_st>::zeroed();
        let raw = copy.as_mut_ptr();
        (&raw mut (*raw).srcMemoryType).write(sys::CUmemorytype_enum::CU_MEMORYTYPE_HOST);
        (&raw mut (*raw).dstMemoryType).write(sys::CUmemorytype_enum::CU_MEMORYTYPE_ARRAY);
        copy.assume_init()
    };
    copy.srcHost = texels.as_ptr().cast::<c_void>();
    copy.srcPitch = row;
    copy.srcHeight = height;
    copy.dstArray = array;
    copy.WidthInBytes = row;
    copy.Height = height;
    copy.Depth = depth;
    let stream = card.stream();
    // SAFETY: source and array hold that many texels; the copy is waited for before the texels are dropped.
    unsafe { sys::cuMemcpy3DAsync_v2(&raw const copy, stream.cu_stream()) }
        .result()
        .and_then(|()| stream.synchronize())
        .map_err(card.failed("filling a texture"))
}

#[expect(
    unsafe_code,
    reason = "cuTexObjectCreate over an array that the caller owns"
)]
fn object(card: &CardLock<'_>, array: sys::CUarray) -> Result<u64, CudaError> {
    let clamp = sys::CUaddress_mode_enum::CU_TR_ADDRESS_MODE_CLAMP;
    let linear = sys::CUfilter_mode_enum::CU_TR_FILTER_MODE_LINEAR;
    let how = sys::CUDA_TEXTURE_DESC_st {
        addressMode: [clamp; 3],
        filterMode: linear,
        flags: 0,
        maxAnisotropy: 0,
        mipmapFilterMode: sys::CUfilter_mode_enum::CU_TR_FILTER_MODE_POINT,
        mipmapLevelBias: 0.0,
        minMipmapLevelClamp: 0.0,
        maxMipmapLevelClamp: 0.0,
        borderColor: [0.0; 4],
        reserved: [0; 12],
    };
    let mut object = 0;
    // SAFETY: a description of zeros is one of an array (its kind is 0) that is null; the array is set next. All three
    // outlive the call, which copies them.
    unsafe {
        let mut resource: sys::CUDA_RESOURCE_DESC_st = zeroed();
        resource.resType = sys::CUresourcetype_enum::CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.hArray = array;
        sys::cuTexObjectCreate(
            &raw mut object,
            &raw const resource,
            &raw const how,
            ptr::null(),
        )
    }
    .result()
    .map_err(card.failed("making a texture"))?;
    Ok(object)
}
