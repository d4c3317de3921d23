//! No bytes make the reader of .pogo-inp files panic, hang, or ask for much memory; whatever it reads, it can finish or refuse.

#![no_main]

mod pogo_input;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    pogo_input::read(bytes);
});
