//! Devices that step one model: after each step a kernel (`exchange.cu`) writes what other devices read into their memory, and
//! waits for what they write. Devices that do not reach each other's memory exchange [messages](super::messages).
//!
//! Every device has room for the state of the whole model, so that a node has the same place on all of them.

use std::ops::Range;
use std::sync::Arc;

use super::messages::Messages;
use crate::device::layout::{In, Out, layouts};
use crate::device::{
    Arena, Buffer, DeviceError, Gpu, Kernel, Module, Opened, Plain as _, Pointer, Slice, Stream, arguments,
};
use crate::ranks::{Accord, Ranks, Reached, exchange_arrays};
use crate::simd::Real;

layouts! {
    header "dynamics/halo.cuh", numbers template;

    constants {}

    opaque {}

    /// What a device sends after a step, and where. By messages only the arrays of this device are known, and stand first.
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

/// Most devices that step a model and reach each other's memory: the kernels have room for the addresses of so many.
pub const MOST_DEVICES: usize = 8;
/// Most devices that step a model and exchange messages.
pub const MOST_DEVICES_BY_MESSAGES: usize = 256;
/// Most thread blocks that send.
const MOST_SENDING: u32 = 512;

/// How devices that step one model exchange what lies between their sub-domains. The results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exchange {
    /// By the memory of the other devices, while the inside is computed.
    #[default]
    Overlap,
    /// By the memory of the other devices, after each pass, for which the host waits.
    Plain,
    /// By messages between the hosts, while the inside is computed.
    Messages,
}

impl Exchange {
    /// How the devices of these ranks can exchange: as this says, or by messages where some do not reach the memory of others.
    /// `ordinal` is the device of this rank. Collective.
    pub fn settled(self, ranks: &Arc<dyn Ranks>, ordinal: u32) -> Self {
        if self == Self::Messages || ranks.n_ranks() > MOST_DEVICES {
            return Self::Messages;
        }
        let probe = || -> Result<(Gpu, Buffer<u32>), DeviceError> { Ok((Gpu::open(ordinal)?, Buffer::zeros(1)?)) };
        let reached = match probe() {
            Ok((gpu, buffer)) => {
                let mut opened = Opened::default();
                let reached = exchange_arrays(ranks, &gpu, Ok(&[buffer.pointer()]), &mut opened).is_ok();
                // The array must stay until all have tried.
                Accord::new(ranks).all(reached)
            }
            // What has failed here fails again where it is reported.
            Err(_) => {
                ranks.all_gather(Vec::new());
                Accord::new(ranks).all(false)
            }
        };
        if reached { self } else { Self::Messages }
    }
}

/// How the numbers of a node lie in an array: number c of node i is at i × `pitch` + c × `stride`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeLayout {
    /// How many there are.
    pub n_numbers: usize,
    pub pitch: usize,
    pub stride: usize,
}

/// The nodes that a device sends to each of the others, or that it gets of them, device by device.
#[derive(Debug, Default)]
pub(crate) struct HaloLists {
    first: Vec<u32>,
    nodes: Vec<u32>,
}

impl HaloLists {
    /// Given the nodes for each device, in any order and any number of times.
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

    /// Number of devices.
    pub fn n_devices(&self) -> usize {
        self.first.len() - 1
    }

    /// Number of nodes, over all devices.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Where the nodes of a device stand in the list of all.
    pub fn range(&self, device: usize) -> Range<usize> {
        self.first[device] as usize..self.first[device + 1] as usize
    }

    /// The nodes of all devices, one device after the other.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The nodes of a device.
    pub fn to(&self, device: usize) -> &[u32] {
        &self.nodes[self.range(device)]
    }

    /// `halo` with these lists, which are placed on the device.
    pub(super) fn place<T: Real>(&self, mut halo: Halo<T>, arena: &mut Arena) -> Result<Halo<T>, DeviceError> {
        halo.first = arena.copy("first nodes of devices", &self.first)?.at();
        halo.nodes = arena.copy("nodes of the halo", &self.nodes)?.at();
        halo.n_devices = self.n_devices() as u32;
        Ok(halo)
    }

    /// Makes the exchange of these nodes ready, as [`Exchange::settled`] has said. `arrays` are those of the state that are
    /// exchanged, each doubled. Where one device has several parts, no device waits. Collective.
    ///
    /// # Errors
    /// A device has too little memory, or another error of one of them.
    pub fn connect<T: Real>(
        &self,
        gpu: &Gpu,
        (accord, exchange): (&Accord, Exchange),
        (arena, opened): (&mut Arena, &mut Opened),
        arrays: &[[Slice<T>; 2]],
        layout: NodeLayout,
    ) -> Result<HaloExchange<T>, DeviceError> {
        let mut halo = Halo::zeroed();
        halo.n_arrays = arrays.len() as u32;
        halo.n_numbers = layout.n_numbers as u32;
        (halo.pitch, halo.stride) = (layout.pitch as u32, layout.stride as u32);
        if exchange == Exchange::Messages {
            for (to, pair) in [&mut halo.u[0], &mut halo.du[0]].into_iter().zip(arrays) {
                *to = pair.map(|array| array.at());
            }
            let entered = accord.agree(gpu.enter());
            let made = entered.and_then(|()| Messages::new(gpu, &accord.ranks, self, halo, arena));
            return accord.agree(made).map(|made| HaloExchange::Messages(Box::new(made)));
        }
        let by_memory = self.by_memory(gpu, accord, (arena, opened), arrays, halo);
        let mut by_memory = accord.agree(by_memory)?;
        // Thread blocks of one device that wait for others of it may keep them from starting.
        let may_wait = accord.all(by_memory.halo.waits == 1);
        by_memory.halo.waits = u32::from(may_wait && exchange == Exchange::Overlap);
        Ok(HaloExchange::Memory(Box::new(by_memory)))
    }

    fn by_memory<T: Real>(
        &self,
        gpu: &Gpu,
        accord: &Accord,
        (arena, opened): (&mut Arena, &mut Opened),
        arrays: &[[Slice<T>; 2]],
        halo: Halo<T>,
    ) -> Result<ByMemory<T>, DeviceError> {
        let ranks = &accord.ranks;
        let reached = gpu.enter().and_then(|()| arena.zeros::<u32>("steps that others have sent", ranks.n_ranks()));
        let offered = reached.map(|arrived| {
            let state = arrays.iter().flatten().map(Slice::pointer);
            std::iter::once(arrived.pointer()).chain(state).collect::<Vec<u64>>()
        });
        let offered = offered.as_ref().map(Vec::as_slice).map_err(DeviceError::clone);
        let all = exchange_arrays(ranks, gpu, offered, opened)?;
        let mut halo = self.place(halo, arena)?;
        halo.progress = arena.zeros::<u32>("progress of sending", 2)?.at();
        (halo.me, halo.waits) = (ranks.rank() as u32, u32::from(are_apart(&all, ranks.rank())));
        for (device, of) in all.iter().enumerate() {
            halo.arrived[device] = Pointer::from_address(of.addresses[0]);
            let pairs = of.addresses[1..].chunks_exact(2);
            for (to, pair) in [&mut halo.u[device], &mut halo.du[device]].into_iter().zip(pairs) {
                *to = [Pointer::from_address(pair[0]), Pointer::from_address(pair[1])];
            }
        }
        let module = gpu.module("exchange")?;
        let kernel = Kernel::new(gpu, &module, &format!("exchange_{}", T::NAME), 0)?;
        let n_blocks = (self.n_nodes() as u32).div_ceil(kernel.threads).clamp(1, MOST_SENDING);
        Ok(ByMemory { kernel, n_blocks, halo, _module: module })
    }
}

/// Whether all other ranks have other devices than rank `me`.
fn are_apart(all: &[Reached], me: usize) -> bool {
    all.iter().enumerate().all(|(device, of)| device == me || of.is_other)
}

/// The exchange by the memory of the other devices.
#[derive(Debug)]
pub(crate) struct ByMemory<T> {
    kernel: Kernel,
    n_blocks: u32,
    halo: Halo<T>,
    _module: Module,
}

/// The exchange after a step, ready to be started.
#[derive(Debug)]
pub(crate) enum HaloExchange<T> {
    Memory(Box<ByMemory<T>>),
    Messages(Box<Messages<T>>),
}

impl<T: Real> HaloExchange<T> {
    /// Whether devices go from step to step without the host, so that steps may be recorded.
    pub fn is_of_devices(&self) -> bool {
        matches!(self, Self::Memory(by_memory) if by_memory.halo.waits == 1)
    }

    /// Whether the host has to wait for all devices after each step.
    pub fn host_waits(&self) -> bool {
        matches!(self, Self::Memory(by_memory) if by_memory.halo.waits == 0)
    }

    /// Starts it after a step that has written the arrays of this number.
    pub fn start(&self, stream: &Stream, place: u32) -> Result<(), DeviceError> {
        match self {
            Self::Memory(by_memory) => {
                let ByMemory { kernel, n_blocks, halo, .. } = &**by_memory;
                let halo = *halo;
                // SAFETY: the arguments that the kernel takes; the lists name nodes of arrays that all devices have.
                unsafe { kernel.launch(stream, *n_blocks, &mut arguments![halo, place]) }
            }
            Self::Messages(messages) => messages.start(stream, place),
        }
    }

    /// Behind all that the host starts for this step: has what others send in the arrays before whatever is started on this stream
    /// afterwards. The host waits for messages.
    pub fn finish(&self, stream: &Stream, place: u32) -> Result<(), DeviceError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Messages(messages) => messages.finish(stream, place),
        }
    }

    /// Number of rounds of messages so far.
    pub fn rounds(&self) -> u64 {
        match self {
            Self::Memory(_) => 0,
            Self::Messages(messages) => messages.rounds(),
        }
    }

    /// Takes part in a round of messages without contents, for which others wait after this rank's device has failed. Says
    /// whether there are messages at all.
    pub fn give_up(&self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Messages(messages) => {
                messages.give_up();
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernels of messages compiled for the host; none without a C++ compiler.
    fn kernels() -> Option<(tempfile::TempDir, libloading::Library)> {
        let folder = tempfile::tempdir().expect("a folder");
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let code = format!(
            "#include \"halo.cuh\"\n\
             #include \"{sources}/device/host.cuh\"\n\
             #include \"{sources}/dynamics/carry.cuh\"\n\
             extern \"C\" void carry_f64(const Halo<double> *h, u32 place, double *message, bool leaves) {{\n\
                 host::launch(3, 256, 0, [=] {{ leaves ? pack_f64(*h, place, message) : unpack_f64(*h, place, message); }});\n\
             }}\n"
        );
        std::fs::write(folder.path().join("carry.cpp"), code).expect("can write");
        let mut compiler = header::header().compiler(folder.path());
        compiler.args(["-O1", "-w", "-shared", "-fPIC", "-o", "carry.so", "carry.cpp"]);
        match compiler.current_dir(folder.path()).status() {
            Ok(status) => assert!(status.success(), "the kernels do not compile for the host"),
            Err(_) => {
                pogo_tests::skip("there is no C++ compiler for the kernels");
                return None;
            }
        }
        let path = folder.path().join("carry.so");
        // SAFETY: compiled just now; it has only initialisers of empty containers.
        let library = unsafe { libloading::Library::new(path) }.expect("loads");
        Some((folder, library))
    }

    type Carry = unsafe extern "C" fn(*const Halo<f64>, u32, *mut f64, bool);

    /// Numbers of listed nodes come to the same places on another device, and no others do. Nodes lie in rows of 2 numbers,
    /// in rows of 4 of which 3 are sent, or number by number.
    #[test]
    fn messages_carry_the_numbers_of_the_listed_nodes() {
        let Some((_folder, library)) = kernels() else { return };
        // SAFETY: defined in `kernels` with this type.
        let carry: libloading::Symbol<Carry> = unsafe { library.get(b"carry_f64\0") }.expect("defined above");
        let n_nodes = 700;
        let lists = HaloLists::new(vec![vec![5, 3, 5, 699], vec![], (0..600).step_by(2).collect()]);
        assert_eq!(lists.range(0), 0..3);
        for (n_arrays, n_numbers, pitch, stride) in [(2, 2, 2, 1), (1, 3, 4, 1), (2, 3, 1, n_nodes)] {
            let len = n_nodes * n_numbers.max(pitch);
            let number = |array: usize, i: usize| (1 + array * len + i) as f64;
            let mut from = [0, 1].map(|array| (0..len).map(|i| number(array, i)).collect::<Vec<f64>>());
            let mut to = [0, 1].map(|_| vec![0.0; len]);
            let width = n_arrays * n_numbers;
            let mut message = vec![f64::NAN; lists.n_nodes() * width];
            let place = 1;
            let halo = |[u, du]: &mut [Vec<f64>; 2]| {
                let mut halo = Halo::<f64>::zeroed();
                halo.u[0][place] = Pointer::from_address(u.as_mut_ptr() as u64);
                halo.du[0][place] = Pointer::from_address(du.as_mut_ptr() as u64);
                halo.first = Pointer::from_address(lists.first.as_ptr() as u64);
                halo.nodes = Pointer::from_address(lists.nodes.as_ptr() as u64);
                (halo.n_devices, halo.n_arrays) = (lists.n_devices() as u32, n_arrays as u32);
                halo.n_numbers = n_numbers as u32;
                (halo.pitch, halo.stride) = (pitch as u32, stride as u32);
                halo
            };
            // SAFETY: the arrays have the numbers of all nodes, and the message those of the listed ones.
            unsafe {
                carry(&halo(&mut from), place as u32, message.as_mut_ptr(), true);
                carry(&halo(&mut to), place as u32, message.as_mut_ptr(), false);
            }
            // What goes to the third device stands behind what goes to the first.
            assert_eq!(message[lists.range(2).start * width], number(0, 0));
            let mut expected = [0, 1].map(|_| vec![0.0; len]);
            for (array, expected) in expected.iter_mut().enumerate().take(n_arrays) {
                for &node in &lists.nodes {
                    for c in 0..n_numbers {
                        let at = node as usize * pitch + c * stride;
                        expected[at] = number(array, at);
                    }
                }
            }
            assert!(to == expected, "{n_arrays} arrays of {n_numbers} numbers");
        }
    }
}
