//! Devices that step one model: after each step a kernel (`exchange.cu`) writes what other devices read into their memory, and
//! waits for what they write.
//!
//! Every device has room for the state of the whole model, so that a node has the same place on all of them.

use crate::device::layout::{In, Out, layouts};
use crate::device::{Arena, DeviceError, Gpu, Kernel, Module, Opened, Plain as _, Pointer, Slice, Stream, arguments};
use crate::ranks::{Accord, Reached, exchange_arrays};
use crate::simd::Real;

layouts! {
    header "dynamics/halo.cuh", numbers template;

    constants {}

    opaque {}

    /// What a device sends after a step, and where.
    struct Halo<T> {
        /// Displacements on each device: the two arrays of the state.
        u: [[Out<T>; 2]; 8],
        /// Their last increments, where `n_arrays` is 2.
        du: [[Out<T>; 2]; 8],
        /// On each device: the number of steps that each of the others has sent, (n_devices,).
        arrived: [Out<u32>; 8],
        /// First entry of each device in `nodes`, (n_devices + 1,).
        first: In<u32>,
        /// Nodes that other devices read, device by device.
        nodes: In<u32>,
        /// Thread blocks that have sent their part of this step, and the number of steps sent.
        progress: Out<u32>,
        me: u32,
        n_devices: u32,
        n_arrays: u32,
        /// Numbers of a node. Number c of node i is at i × `pitch` + c × `stride`.
        n_numbers: u32,
        pitch: u32,
        stride: u32,
        /// 1 if the kernel waits for the other devices, and not the host.
        waits: u32,
        reserved: u32,
    }
}

/// Most devices that step a model: the kernels have room for the addresses of so many.
pub const MOST_DEVICES: usize = 8;
/// Most thread blocks that send.
const MOST_SENDING: u32 = 512;

/// How the numbers of a node lie in an array: number c of node i is at i × `pitch` + c × `stride`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeLayout {
    /// How many there are.
    pub n_numbers: usize,
    pub pitch: usize,
    pub stride: usize,
}

/// The nodes that a device sends, device by device.
#[derive(Debug)]
pub(crate) struct HaloLists {
    first: Vec<u32>,
    nodes: Vec<u32>,
}

impl HaloLists {
    /// Given the nodes that each device reads, in any order and any number of times.
    pub fn new(sent: Vec<Vec<u32>>) -> Self {
        let mut lists = Self { first: vec![0], nodes: Vec::new() };
        for mut nodes in sent {
            nodes.sort_unstable();
            nodes.dedup();
            lists.nodes.append(&mut nodes);
            lists.first.push(lists.nodes.len() as u32);
        }
        lists
    }

    /// The nodes that a device reads.
    #[cfg(test)]
    pub fn to(&self, device: usize) -> &[u32] {
        &self.nodes[self.first[device] as usize..self.first[device + 1] as usize]
    }

    /// Places the lists on this device and learns the addresses of the others. `arrays` are those of the state that are
    /// exchanged, each doubled. With `plain`, or where one device has several parts, no device waits. Collective.
    ///
    /// # Errors
    /// A device cannot reach the memory of another.
    pub fn place<T: Real>(
        &self,
        gpu: &Gpu,
        (accord, plain): (&Accord, bool),
        (arena, opened): (&mut Arena, &mut Opened),
        arrays: &[[Slice<T>; 2]],
        layout: NodeLayout,
    ) -> Result<HaloExchange<T>, DeviceError> {
        let ranks = &accord.ranks;
        let reached = gpu.enter().and_then(|()| arena.zeros::<u32>("steps that others have sent", ranks.n_ranks()));
        let offered = reached.map(|arrived| {
            let state = arrays.iter().flatten().map(Slice::pointer);
            std::iter::once(arrived.pointer()).chain(state).collect::<Vec<u64>>()
        });
        let offered = offered.as_ref().map(Vec::as_slice).map_err(DeviceError::clone);
        let placed = exchange_arrays(ranks, gpu, offered, opened).and_then(|all| {
            let halo = self.halo(&all, ranks.rank(), arena, layout)?;
            HaloExchange::new(gpu, halo, self.nodes.len())
        });
        let mut placed = accord.agree(placed)?;
        // Thread blocks of one device that wait for others of it may keep them from starting.
        let may_wait = accord.all(placed.halo.waits == 1);
        placed.halo.waits = u32::from(may_wait && !plain);
        Ok(placed)
    }

    fn halo<T: Real>(
        &self,
        all: &[Reached],
        me: usize,
        arena: &mut Arena,
        layout: NodeLayout,
    ) -> Result<Halo<T>, DeviceError> {
        let mut halo = Halo::zeroed();
        halo.first = arena.copy("first nodes to send", &self.first)?.at();
        halo.nodes = arena.copy("nodes to send", &self.nodes)?.at();
        halo.progress = arena.zeros::<u32>("progress of sending", 2)?.at();
        (halo.me, halo.n_devices) = (me as u32, all.len() as u32);
        halo.n_numbers = layout.n_numbers as u32;
        (halo.pitch, halo.stride) = (layout.pitch as u32, layout.stride as u32);
        halo.waits = u32::from(all.iter().enumerate().all(|(device, of)| device == me || of.is_other));
        for (device, of) in all.iter().enumerate() {
            let arrays = &of.addresses[1..];
            halo.arrived[device] = Pointer::from_address(of.addresses[0]);
            halo.n_arrays = (arrays.len() / 2) as u32;
            for (to, pair) in [&mut halo.u[device], &mut halo.du[device]].into_iter().zip(arrays.chunks_exact(2)) {
                *to = [Pointer::from_address(pair[0]), Pointer::from_address(pair[1])];
            }
        }
        Ok(halo)
    }
}

/// The exchange after a step, ready to be started.
#[derive(Debug)]
pub(crate) struct HaloExchange<T> {
    kernel: Kernel,
    n_blocks: u32,
    halo: Halo<T>,
    _module: Module,
}

impl<T: Real> HaloExchange<T> {
    fn new(gpu: &Gpu, halo: Halo<T>, n_sent: usize) -> Result<Self, DeviceError> {
        let module = gpu.module("exchange")?;
        let kernel = Kernel::new(gpu, &module, &format!("exchange_{}", T::NAME), 0)?;
        let n_blocks = (n_sent as u32).div_ceil(kernel.threads).clamp(1, MOST_SENDING);
        Ok(Self { kernel, n_blocks, halo, _module: module })
    }

    /// Whether the devices wait for each other; else the host has to wait for all after each step.
    pub fn waits(&self) -> bool {
        self.halo.waits == 1
    }

    /// Starts it after a step that has written the arrays of this number.
    pub fn start(&self, stream: &Stream, place: u32) -> Result<(), DeviceError> {
        let halo = self.halo;
        // SAFETY: the arguments that the kernel takes; the lists name nodes of arrays that all devices have.
        unsafe { self.kernel.launch(stream, self.n_blocks, &mut arguments![halo, place]) }
    }
}
