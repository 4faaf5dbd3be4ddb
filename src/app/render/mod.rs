//! Rendering on the graphics device: volumes as 3D textures, sampled in patient space by the shaders of
//! `kernels/*.wgsl`.

mod bev;
mod cast;
mod compare;
mod drr;
mod frame;
pub mod interfaces;
pub mod offscreen;
mod outline;
mod pipeline;
mod radiograph;
mod rays;
mod room;
mod slice;
mod textures;
mod upload;

pub use bev::BevFrame;
pub use cast::Fineness;
pub use compare::{Blend, CompareLook, DifferenceLook, GammaLook, Isolines};
pub use drr::DrrView;
pub use frame::PlaneFrame;
pub use outline::OutlineLook;
pub use radiograph::{Overlay, RadiographFrame, RadiographLook, Texels};
pub use slice::{DoseLook, DoseStyle, Isodose, SliceLook};

use bev::{BevPipeline, Layer};
use cast::Caster;
use compare::ComparePipeline;
use drr::DrrCaster;
use egui::mutex::Mutex;
use egui_wgpu::{RenderState, WgpuSetupCreateNew, wgpu};
use geometry::{BeamFrame, Volume, VolumeId};
use outline::OutlinePipeline;
use radiograph::RadiographPipeline;
use room::RoomPipeline;
use slice::SlicePipeline;
use std::sync::Arc;
use textures::{Kind, Textures};

/// The window's graphics device with its resources. Cheap to clone; the default has no device and draws nothing.
#[derive(Clone, Default)]
pub struct Gpu {
    parts: Option<Arc<Parts>>,
}

struct Parts {
    device: wgpu::Device,
    queue: wgpu::Queue,
    adapter: wgpu::AdapterInfo,
    slice: SlicePipeline,
    compare: ComparePipeline,
    outline: OutlinePipeline,
    textures: Mutex<Textures>,
    /// Absent if the device has no compute shaders.
    caster: Option<Mutex<Caster>>,
    bev: Option<BevPipeline>,
    radiograph: Mutex<RadiographPipeline>,
    room: Mutex<RoomPipeline>,
    /// Absent if the device has no compute shaders.
    drr: Option<Mutex<DrrCaster>>,
}

/// Builds the pipelines on the window's device. Every [`crate::view::Scene`] holds the handle.
pub fn install(state: &RenderState) -> Gpu {
    let (device, queue) = (state.device.clone(), state.queue.clone());
    // wgpu panics on an uncaptured error by default; a driver error must not end the program.
    device.on_uncaptured_error(Arc::new(|error| {
        tracing::error!("graphics device: {error}")
    }));
    let layouts = textures::Layouts::new(&device);
    let slice = SlicePipeline::new(&device, state.target_format, &layouts);
    let compare = ComparePipeline::new(&device, state.target_format, &layouts);
    let outline = OutlinePipeline::new(&device, state.target_format, &layouts);
    let computes = device.limits().max_compute_workgroups_per_dimension > 0;
    let caster = computes.then(|| Caster::new(&device, &queue, &layouts));
    let bev = caster
        .as_ref()
        .map(|c| BevPipeline::new(&device, state.target_format, &c.picture_layout));
    let caster = caster.map(Mutex::new);
    let radiograph = Mutex::new(RadiographPipeline::new(
        &device,
        &queue,
        state.target_format,
    ));
    let room = Mutex::new(RoomPipeline::new(&device, state.target_format));
    let drr = computes.then(|| Mutex::new(DrrCaster::new(&device, &queue, &layouts)));
    let textures = Mutex::new(Textures::new(device.clone(), queue.clone(), layouts));
    let adapter = state.adapter.get_info();
    Gpu {
        parts: Some(Arc::new(Parts {
            device,
            queue,
            adapter,
            slice,
            compare,
            outline,
            textures,
            caster,
            bev,
            radiograph,
            room,
            drr,
        })),
    }
}

/// Setup of the window's device: like egui's own, with 3D textures and buffers as large as the adapter supports.
pub fn setup() -> WgpuSetupCreateNew {
    let mut setup = WgpuSetupCreateNew::without_display_handle();
    let base = Arc::clone(&setup.device_descriptor);
    setup.device_descriptor = Arc::new(move |adapter| {
        let mut descriptor = base(adapter);
        let has = adapter.limits();
        let side = descriptor.required_limits.max_texture_dimension_2d;
        // egui asks OpenGL for what browsers have; views are drawn from storage buffers, which desktops have besides.
        if adapter.get_info().backend == wgpu::Backend::Gl {
            descriptor.required_limits =
                wgpu::Limits::downlevel_defaults().or_worse_values_from(&has);
        }
        let wants = &mut descriptor.required_limits;
        wants.max_texture_dimension_2d = side.min(has.max_texture_dimension_2d);
        wants.max_texture_dimension_3d = has.max_texture_dimension_3d;
        wants.max_buffer_size = has.max_buffer_size;
        descriptor
    });
    setup
}

impl Gpu {
    /// Name and kind of the device, for display; `None` without one.
    pub fn device_name(&self) -> Option<String> {
        let info = &self.parts.as_ref()?.adapter;
        Some(format!("{} ({})", info.name, info.backend))
    }

    /// Whether a processor renders (Mesa's lavapipe and the like): then ray casts are coarser.
    pub fn is_software(&self) -> bool {
        self.parts
            .as_ref()
            .is_some_and(|p| p.adapter.device_type == wgpu::DeviceType::Cpu)
    }

    /// Bytes of textures held, and number of uploads since the start.
    pub fn texture_use(&self) -> (u64, u64) {
        self.parts
            .as_ref()
            .map_or((0, 0), |p| p.textures.lock().used())
    }

    /// Why the upload of a volume failed, if it did.
    pub fn failure(&self, volume: VolumeId) -> Option<String> {
        self.parts.as_ref()?.textures.lock().failure(volume)
    }

    /// Makes the texture of a CT: work for the thread that opens it.
    pub fn prepare_ct(&self, hu: &Volume<f32>) {
        self.prepare(hu, Kind::Ct);
    }

    /// Makes the texture of a dose: work for a thread that reads it.
    pub fn prepare_dose(&self, gy: &Volume<f32>) {
        self.prepare(gy, Kind::Dose);
    }

    fn prepare(&self, volume: &Volume<f32>, kind: Kind) {
        let Some(parts) = &self.parts else { return };
        // The frames that are drawn meanwhile do not wait for it.
        let missing = parts.textures.lock().missing(volume, kind);
        if let Some(uploader) = missing {
            let texture = uploader.volume(volume, kind);
            parts.textures.lock().insert_ahead(volume, kind, texture);
        }
    }

    /// The draw call of one plane: uploads missing volumes, once each. `None` without a device.
    pub fn slice_callback(
        &self,
        rect: egui::Rect,
        frame: &PlaneFrame,
        look: &SliceLook<'_>,
    ) -> Option<egui::PaintCallback> {
        let parts = self.parts.as_ref()?;
        let mut textures = parts.textures.lock();
        let ct = look
            .ct
            .and_then(|v| textures.volume(v, Kind::Ct).map(|t| (v, t)));
        let dose = look
            .dose
            .as_ref()
            .and_then(|d| textures.volume(d.gy, Kind::Dose).map(|t| (d.gy, t)));
        let empty = [textures.empty(Kind::Ct), textures.empty(Kind::Dose)];
        drop(textures);
        let paint = parts
            .slice
            .paint(&parts.device, frame, look, ct, dose, empty);
        Some(egui_wgpu::Callback::new_paint_callback(rect, paint))
    }

    /// The draw call of one plane of two doses: uploads missing volumes, once each. `None` without a device.
    pub fn compare_callback(
        &self,
        rect: egui::Rect,
        frame: &PlaneFrame,
        look: &CompareLook<'_>,
    ) -> Option<egui::PaintCallback> {
        let parts = self.parts.as_ref()?;
        let mut textures = parts.textures.lock();
        let ct = look.ct.and_then(|v| textures.volume(v, Kind::Ct));
        let no_ct = textures.empty(Kind::Ct);
        let (doses, has_dose) = textures.three([look.a, look.b, look.gamma]);
        drop(textures);
        let has_ct = ct.is_some();
        let groups = vec![ct.unwrap_or(no_ct), doses];
        let paint = parts
            .compare
            .paint(&parts.device, frame, look, has_ct, has_dose, groups);
        Some(egui_wgpu::Callback::new_paint_callback(rect, paint))
    }

    /// The draw call of the outlines of structures on a plane; `None` if it meets none of them.
    pub fn outline_callback(
        &self,
        rect: egui::Rect,
        frame: &PlaneFrame,
        looks: &[OutlineLook<'_>],
    ) -> Option<egui::PaintCallback> {
        let parts = self.parts.as_ref()?;
        let paint = parts
            .outline
            .paint(&parts.device, frame, looks, &mut parts.textures.lock())?;
        Some(egui_wgpu::Callback::new_paint_callback(rect, paint))
    }

    /// The draw call of the radiograph and silhouettes of a beam's-eye view: recast only if the beam, the CT or a mask
    /// has changed, or a finer picture is requested. `None` without layers or device.
    pub fn bev_callback(
        &self,
        rect: egui::Rect,
        frame: &BevFrame,
        beam: &BeamFrame,
        fineness: Fineness,
        look: &BevLook<'_>,
    ) -> Option<egui::PaintCallback> {
        let parts = self.parts.as_ref()?;
        let mut caster = parts.caster.as_ref()?.lock();
        let mut textures = parts.textures.lock();
        let device = &parts.device;
        let mut layers = Vec::new();
        if let Some(ct) = look.ct
            && let Some(picture) = caster.radiograph(device, &mut textures, ct, beam, fineness)
        {
            let layer = Layer::Radiograph {
                range_mm: look.range_mm,
                background: look.background,
            };
            layers.push((picture, layer));
        }
        for outline in &look.outlines {
            let Some(picture) =
                caster.silhouette(device, &mut textures, outline.mask, beam, fineness)
            else {
                continue;
            };
            let layer = Layer::Silhouette {
                colour: outline.colour,
                width_px: outline.width_px,
            };
            layers.push((picture, layer));
        }
        caster.submit();
        let paint = parts.bev.as_ref()?.paint(device, frame, layers)?;
        Some(egui_wgpu::Callback::new_paint_callback(rect, paint))
    }

    /// The draw call of an X-ray, the DRR over it (image number `image` of those displayed) and outlines of structures:
    /// recast only if pose, image, volume or a mask has changed, or a finer picture is requested. `None` without a
    /// device.
    pub fn radiograph_callback(
        &self,
        rect: egui::Rect,
        image: usize,
        frame: &RadiographFrame,
        attenuation: Option<&Arc<Volume<f32>>>,
        view: &DrrView,
        look: &RadiographLook<'_>,
    ) -> Option<egui::PaintCallback> {
        let parts = self.parts.as_ref()?;
        let mut drr = None;
        let mut silhouettes = Vec::new();
        if let Some(caster) = &parts.drr {
            let (mut caster, mut textures) = (caster.lock(), parts.textures.lock());
            drr = attenuation.and_then(|volume| {
                let picture = caster.drr(&mut textures, image, volume, view);
                picture.map(drr::Picture::drawn)
            });
            for outline in &look.outlines {
                let picture = caster
                    .silhouette(&mut textures, image, outline.mask, view)
                    .map(drr::Picture::drawn);
                silhouettes.extend(picture.map(|p| (p, outline)));
            }
            caster.submit();
        }
        let mut radiograph = parts.radiograph.lock();
        let xray = look
            .xray
            .and_then(|x| radiograph.xray(&parts.device, &parts.queue, x));
        let paint = radiograph.paint(
            &parts.device,
            frame,
            view,
            look,
            xray.as_ref(),
            drr.as_ref(),
            &silhouettes,
        );
        Some(egui_wgpu::Callback::new_paint_callback(rect, paint))
    }

    /// The draw call of the room: drawn anew only if its camera or contents have changed. `None` without a device.
    pub fn room_callback(
        &self,
        rect: egui::Rect,
        look: report::room::RoomLook,
    ) -> Option<egui::PaintCallback> {
        let parts = self.parts.as_ref()?;
        let paint = parts.room.lock().paint(&parts.device, &parts.queue, look)?;
        Some(egui_wgpu::Callback::new_paint_callback(rect, paint))
    }

    /// Number of pictures cast since the start: constant at rest.
    pub fn casts(&self) -> u64 {
        let Some(parts) = &self.parts else { return 0 };
        let beams = parts.caster.as_ref().map_or(0, |c| c.lock().casts());
        beams + parts.drr.as_ref().map_or(0, |c| c.lock().casts())
    }

    /// Sets the number of the frame to be drawn: textures unused for many frames are evicted.
    pub fn begin_frame(&self, frame: u64) {
        if let Some(parts) = &self.parts {
            parts.textures.lock().begin_frame(frame);
            if let Some(drr) = &parts.drr {
                drr.lock().begin_frame(frame);
            }
        }
    }
}

/// Patient layers of a beam's-eye view.
pub struct BevLook<'a> {
    pub ct: Option<&'a Arc<Volume<f32>>>,
    /// Water-equivalent mm at black and at white.
    pub range_mm: [f32; 2],
    /// Display colour outside the radiograph, 0 to 1.
    pub background: [f32; 3],
    pub outlines: Vec<OutlineLook<'a>>,
}

/// A volume and its texture's bindings.
type Placed<'a> = (&'a Arc<Volume<f32>>, wgpu::BindGroup);

#[cfg(test)]
mod tests {
    use egui_wgpu::wgpu::naga;

    #[test]
    fn shaders_are_valid() {
        let shaders = [
            ("slice", super::slice::SOURCE),
            ("compare", super::compare::SOURCE),
            ("outline", super::outline::SOURCE),
            ("cast", super::cast::SOURCE),
            ("bev", super::bev::SOURCE),
            ("drr", super::drr::SOURCE),
            ("radiograph", super::radiograph::SOURCE),
            ("room", super::room::SOURCE),
            ("picture", super::room::PICTURE_SOURCE),
        ];
        for (name, source) in shaders {
            let module = naga::front::wgsl::parse_str(source)
                .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(source)));
            naga::valid::Validator::new(
                naga::valid::ValidationFlags::all(),
                naga::valid::Capabilities::empty(),
            )
            .validate(&module)
            .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(source)));
        }
    }
}
