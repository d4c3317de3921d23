use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use rayon::ThreadPoolBuilder;

use super::*;

const N: usize = 10_000;

/// Does the same on one and on three threads.
fn on_threads(test: impl Fn() + Sync) {
    for n in [1, 3] {
        ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(&test);
    }
}

#[test]
fn items_are_those_of_plain_iterators_in_their_order() {
    on_threads(|| {
        let numbers: Vec<u32> = (0..N as u32).into_par_iter().map(|i| i * i).collect();
        assert_eq!(numbers, (0..N as u32).map(|i| i * i).collect::<Vec<_>>());
        let odd = |x: &&u32| **x % 2 == 1;
        let some: Vec<(usize, u32)> =
            numbers.par_iter().filter(odd).copied().filter_map(|x| (x % 3 == 1).then_some((x as usize, x))).collect();
        let expected: Vec<(usize, u32)> =
            numbers.iter().filter(odd).filter(|x| **x % 3 == 1).map(|&x| (x as usize, x)).collect();
        assert_eq!(some, expected);
        let several: Vec<u32> = numbers.par_iter().with_min_len(300).flat_map_iter(|&x| [x; 2]).collect();
        assert_eq!(several, numbers.iter().flat_map(|&x| [x; 2]).collect::<Vec<_>>());
        let zipped: Vec<(usize, (&u32, usize))> = numbers.par_iter().zip(5..N).enumerate().collect();
        assert_eq!(zipped, numbers.iter().zip(5..N).enumerate().collect::<Vec<_>>());
        let mut more = vec![7];
        more.par_extend(numbers.par_windows(3).map(|window| window[2] - window[0]));
        assert_eq!(more[1..], numbers.windows(3).map(|window| window[2] - window[0]).collect::<Vec<_>>());
        assert_eq!(numbers[..2].par_windows(3).count(), 0);
        let [first, end] = [4, 2_usize];
        assert_eq!((first..end).into_par_iter().count(), 0);
    });
}

#[test]
fn parts_of_slices_are_written_once() {
    on_threads(|| {
        let mut numbers = vec![0; 1001];
        numbers.par_chunks_mut(10).enumerate().for_each(|(part, chunk)| chunk.iter_mut().for_each(|x| *x += part));
        assert_eq!(numbers, (0..1001).map(|i| i / 10).collect::<Vec<_>>());
        numbers.par_chunks_exact_mut(10).for_each(|chunk| chunk[9] = 0);
        assert_eq!((numbers[999], numbers[1000]), (0, 100));
        numbers.par_iter_mut().zip(&vec![1; 500]).for_each(|(x, one)| *x += one);
        assert_eq!((numbers[499], numbers[500]), (1, 50));
        assert_eq!(numbers.par_chunks(10).map(<[_]>::len).collect::<Vec<_>>(), [[10; 100].as_slice(), &[1]].concat());
        assert_eq!(numbers.par_chunks_exact(10).count(), 100);
    });
}

#[test]
fn what_is_made_of_all_items_does_not_depend_on_threads() {
    on_threads(|| {
        let numbers: Vec<usize> = (0..N).map(|i| i * 7919 % N).collect();
        assert_eq!(numbers.par_iter().sum::<usize>(), N * (N - 1) / 2);
        assert_eq!(numbers.par_iter().copied().max(), Some(N - 1));
        let by_digit = |a: &&usize, b: &&usize| (*a % 10).cmp(&(*b % 10));
        assert_eq!(numbers.par_iter().max_by(by_digit), numbers.iter().max_by(by_digit));
        assert_eq!(numbers.par_iter().min_by(by_digit), numbers.iter().min_by(by_digit));
        let pairs: (Vec<usize>, Vec<usize>) = numbers.par_iter().map(|&x| (x, x + 1)).unzip();
        assert_eq!(pairs, numbers.iter().map(|&x| (x, x + 1)).unzip());
        assert_eq!(numbers.par_iter().copied().reduce(|| 0, |a, b| a ^ b), numbers.iter().fold(0, |a, b| a ^ b));
        assert_eq!(numbers.par_iter().fold(|| 0, |sum, x| sum + x).reduce(|| 0, |a, b| a + b), N * (N - 1) / 2);
        assert_eq!(numbers.par_iter().filter(|x| **x < 10).count(), 10);
        assert!(numbers.par_iter().all(|x| *x < N) && !numbers.par_iter().any(|x| *x == N));
        assert_eq!(numbers.par_iter().position_first(|x| *x > N / 2), numbers.iter().position(|x| *x > N / 2));
        assert_eq!(numbers.par_iter().find_first(|x| **x % 5 == 4), numbers.iter().find(|x| **x % 5 == 4));
        let none: Option<&usize> = numbers.par_iter().find_first(|x| **x == N);
        assert_eq!(none, None);
    });
}

#[test]
fn the_first_error_is_that_of_the_first_item() {
    on_threads(|| {
        let at_most = |limit: usize| move |i: usize| if i > limit { Err(i) } else { Ok(()) };
        for limit in [0, 500, N - 2, N] {
            let expected = (0..N).try_for_each(at_most(limit));
            assert_eq!((0..N).into_par_iter().try_for_each(at_most(limit)), expected);
            let all: Result<Vec<()>, usize> = (0..N).into_par_iter().map(at_most(limit)).collect();
            assert_eq!(all.map(|all| assert_eq!(all.len(), N)), expected);
        }
    });
}

#[test]
fn memory_is_made_for_ranges_and_not_for_items() {
    on_threads(|| {
        let made = AtomicUsize::new(0);
        let new = || made.fetch_add(1, Relaxed);
        let sum: usize = (0..N).into_par_iter().map_init(new, |_, i| i).sum();
        assert_eq!(sum, N * (N - 1) / 2);
        assert!(made.into_inner() <= RANGES_OF_A_THREAD * rayon::current_num_threads());
    });
}

#[test]
fn owned_items_are_dropped_once() {
    on_threads(|| {
        let one = Arc::new(());
        let many = vec![one.clone(); 1000];
        let kept: Vec<Arc<()>> = many.into_par_iter().enumerate().filter(|(i, _)| i % 2 == 0).map(|(_, x)| x).collect();
        assert_eq!((kept.len(), Arc::strong_count(&one)), (500, 501));
        kept.into_par_iter().for_each(drop);
        assert_eq!(Arc::strong_count(&one), 1);
    });
}
