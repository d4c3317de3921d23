use proptest::prelude::*;

use super::*;

fn example() -> Checkpoint<'static> {
    Checkpoint {
        block_hash: "00c0ffee".into(),
        precision: "f32".into(),
        fingerprint: 77,
        time_increment: 2.5e-9,
        step: 12,
        external_work: 1.5e-9,
        damped_energy: -0.0,
        displacement: vec![1e-9, f64::MIN_POSITIVE, -0.0].into(),
        increment: vec![0.1, 0.2, f64::INFINITY].into(),
        payload: b"traces".as_slice().into(),
    }
}

#[test]
fn every_cut_and_every_flipped_bit_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ckpt");
    write(&path, &example()).unwrap();
    assert_eq!(read(&path).unwrap(), example());
    assert_eq!(time_increment(&path), Some(2.5e-9));
    let whole = std::fs::read(&path).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(matches!(read(&path), Err(OutputError::Damaged { .. })), "cut to {length}");
    }
    for bit in 0..8 * whole.len() {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &flipped).unwrap();
        assert!(matches!(read(&path), Err(OutputError::Damaged { .. })), "bit {bit}");
    }
}

#[test]
fn errors_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ckpt");
    let message = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let text = read(&path).unwrap_err().to_string();
        text.strip_prefix(&format!("{}: error: ", path.display())).unwrap().to_owned()
    };
    write(&path, &example()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(message(b"hello"), "not a Pogo checkpoint");
    let mut newer = whole.clone();
    newer[8] = 9;
    assert!(message(&newer).starts_with("checkpoint of version 9, expected 3: "));
    assert!(message(&whole[..100]).starts_with("the checkpoint is cut or changed: 100 bytes, expected "));
    let mut changed = whole;
    changed[60] ^= 1;
    assert!(message(&changed).starts_with("the checkpoint's checksum is wrong"));
}

proptest! {
    // Each case waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_is_written_is_read_bit_for_bit(
        bits in proptest::collection::vec(any::<u64>(), 0..40),
        payload in proptest::collection::vec(any::<u8>(), 0..40),
        step: u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ckpt");
        let values: Vec<f64> = bits.iter().map(|&b| f64::from_bits(b)).collect();
        let checkpoint = Checkpoint {
            step,
            displacement: values.as_slice().into(),
            increment: values.as_slice().into(),
            payload: payload.as_slice().into(),
            ..Checkpoint::default()
        };
        write(&path, &checkpoint).unwrap();
        let back = read(&path).unwrap();
        prop_assert_eq!(back.step, step);
        prop_assert_eq!(back.payload.as_ref(), payload.as_slice());
        prop_assert_eq!(back.displacement.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), bits.clone());
        prop_assert_eq!(back.increment.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), bits);
    }
}
