//! Devices of one host that compute together, driven by one thread.

use super::context::{Event, Gpu, Stream};
use super::{DeviceError, check_memory};

/// Devices that compute together, each with a stream. The first is current on the thread of the host, except in
/// [`for_each`](Self::for_each).
#[derive(Debug)]
pub(crate) struct Devices(Vec<Lane>);

/// One of them.
#[derive(Debug)]
struct Lane {
    /// What this device has been given before the last [`Devices::meet`].
    before: Event,
    stream: Stream,
    gpu: Gpu,
}

impl Devices {
    /// Opens devices that can read and write the memory of each other.
    ///
    /// # Errors
    /// There is no such device, it is named twice, or two of them are not connected.
    pub fn open(ordinals: &[u32]) -> Result<Self, DeviceError> {
        let failed = |reason: String| DeviceError::Failed { what: "compute one model on these devices", reason };
        if let Some(twice) = (1..ordinals.len()).find(|&i| ordinals[..i].contains(&ordinals[i])) {
            return Err(failed(format!("device {} is named twice; name it once", ordinals[twice])));
        }
        let mut lanes = Vec::new();
        for &ordinal in ordinals {
            let gpu = Gpu::open(ordinal)?;
            if ordinals.len() > 1 && !gpu.maps_memory {
                let reason = format!("the driver maps no memory of {}; use --device cuda:{}", gpu.name, ordinals[0]);
                return Err(failed(reason));
            }
            for &other in ordinals.iter().filter(|&&other| other != ordinal) {
                gpu.reach(other).map_err(|error| {
                    failed(format!(
                        "device {ordinal} does not reach device {other} ({error}); use --device cuda:{}",
                        ordinals[0]
                    ))
                })?;
            }
            lanes.push(Lane { before: Event::new()?, stream: Stream::new()?, gpu });
        }
        let devices = Self(lanes);
        devices.enter()?;
        Ok(devices)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn gpu(&self, device: usize) -> &Gpu {
        &self.0[device].gpu
    }

    pub fn ordinals(&self) -> Vec<u32> {
        self.0.iter().map(|lane| lane.gpu.ordinal).collect()
    }

    pub fn stream(&self, device: usize) -> &Stream {
        &self.0[device].stream
    }

    /// Stream of the first device.
    pub fn first(&self) -> &Stream {
        &self.0[0].stream
    }

    /// Makes the first device current on the calling thread.
    pub fn enter(&self) -> Result<(), DeviceError> {
        self.0[0].gpu.enter()
    }

    /// Calls `act(device, stream)` for each device, which is current then.
    pub fn for_each(&self, mut act: impl FnMut(usize, &Stream) -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        if let [only] = &self.0[..] {
            return act(0, &only.stream);
        }
        let done = self.0.iter().enumerate().try_for_each(|(device, lane)| {
            lane.gpu.enter()?;
            act(device, &lane.stream)
        });
        self.enter()?;
        done
    }

    /// What any device is given from here on waits for what all have been given before.
    pub fn meet(&self) -> Result<(), DeviceError> {
        if self.len() == 1 {
            return Ok(());
        }
        self.for_each(|device, stream| self.0[device].before.record(stream))?;
        self.for_each(|device, stream| {
            let others = self.0.iter().enumerate().filter(|&(other, _)| other != device);
            others.map(|(_, lane)| lane).try_for_each(|lane| lane.before.precede(stream))
        })
    }

    /// Waits for everything that the devices have been given.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.for_each(|_, stream| stream.synchronize())
    }

    /// Bytes that are free on each device.
    pub fn free_memory(&self) -> Result<Vec<u64>, DeviceError> {
        let mut free = Vec::new();
        self.for_each(|device, _| {
            free.push(self.gpu(device).free_memory()?);
            Ok(())
        })?;
        Ok(free)
    }

    /// Checks that `needed` bytes fit, in equal shares, beside `reserve` bytes on each device; `advice` says what to use instead.
    pub fn require(&self, needed: u64, reserve: u64, advice: &'static str) -> Result<(), DeviceError> {
        match &self.0[..] {
            [only] => only.gpu.require(needed + reserve, advice),
            _ => check_memory(&self.names(), &self.free_memory()?, needed, reserve, advice),
        }
    }

    /// Their names, those of equal ones once: `2 × NVIDIA H200`.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|lane| lane.gpu.name.as_str()).collect();
        match names[..] {
            [one] => one.to_owned(),
            [first, ..] if names.iter().all(|name| *name == first) => format!("{} × {first}", names.len()),
            _ => names.join(", "),
        }
    }
}
