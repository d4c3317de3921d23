//! Shots that step together, each as a run of its own.
//!
//! Each run has a thread, which assembles its model, brings a stepper and then makes steps, samples energies and writes results
//! as a run alone does. A [`Gathering`] waits until all runs have brought their steppers, or have ended before. From then on it
//! makes a step for all of them when all have asked for it.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{ElementStepper, EnergySums, GpuShots, GpuStepper};
use crate::device::DeviceError;
use crate::dynamics::{State, Stepper, Steps};
use crate::simd::Real;

/// Steppers that make the same steps.
pub(crate) trait Company: Send {
    /// Makes steps of all, as [`Stepper::advance`] does of one. `records` and `recordings` are those of each.
    fn advance(&mut self, n_steps: usize, records: &[&[u64]], recordings: &mut [Vec<f64>]) -> Result<(), DeviceError>;

    /// The stepper of a shot.
    fn of(&mut self, shot: usize) -> &mut dyn ElementStepper;

    /// Number of shots.
    fn len(&self) -> usize;
}

impl<T: Real + 'static> Company for GpuShots<T> {
    fn advance(&mut self, n_steps: usize, records: &[&[u64]], recordings: &mut [Vec<f64>]) -> Result<(), DeviceError> {
        GpuShots::advance(self, n_steps, records, recordings)
    }

    fn of(&mut self, shot: usize) -> &mut dyn ElementStepper {
        GpuShots::of(self, shot)
    }

    fn len(&self) -> usize {
        GpuShots::len(self)
    }
}

/// Runs that take place together.
struct Gathering {
    state: Mutex<Gathered>,
    changed: Condvar,
}

#[derive(Default)]
struct Gathered {
    members: Vec<Member>,
    /// The steppers of all that have brought one, once no other is awaited.
    company: Option<Result<Box<dyn Company>, DeviceError>>,
    /// Step of all steppers.
    step: u64,
}

/// What a run does.
enum Member {
    /// It has brought no stepper yet.
    Awaited,
    Brought(Box<dyn Any + Send>),
    /// It has a stepper in the company, of this number there, and does something else than stepping.
    Busy(usize),
    /// It waits for steps of the stepper of this number.
    Waiting(usize, Wish),
    /// The steps that it waited for are made; their recorded values.
    Served(Result<Vec<f64>, DeviceError>),
    /// It has ended; its stepper goes on with the others, if it brought one.
    Ended,
}

/// Steps that a run waits for.
struct Wish {
    /// The step that it is to come to.
    end: u64,
    record: Vec<u64>,
    recording: Vec<f64>,
}

impl Gathered {
    /// Whether a run has neither brought a stepper nor ended.
    fn is_awaited(&self) -> bool {
        self.members.iter().any(|member| matches!(member, Member::Awaited))
    }

    /// Makes one company of all steppers.
    fn gather<S: Any + Send, C: Company + 'static>(
        &mut self,
        step_of: impl Fn(&S) -> u64,
        gather: impl FnOnce(Vec<S>) -> Result<C, DeviceError>,
    ) {
        let mut steppers: Vec<S> = Vec::new();
        for member in &mut self.members {
            if let Member::Brought(_) = member
                && let Member::Brought(stepper) = std::mem::replace(member, Member::Busy(steppers.len()))
                && let Ok(stepper) = stepper.downcast::<S>()
            {
                steppers.push(*stepper);
            }
        }
        self.step = steppers.first().map_or(0, step_of);
        self.company = Some(gather(steppers).map(|company| Box::new(company) as Box<dyn Company>));
    }

    /// Makes the steps that all wait for, up to the first that one of them comes to. Nothing where a run is busy.
    fn serve(&mut self) -> bool {
        let Some(Ok(company)) = &mut self.company else { return false };
        let mut end = u64::MAX;
        for member in &self.members {
            match member {
                Member::Waiting(_, wish) => end = end.min(wish.end),
                Member::Ended => {}
                _ => return false,
            }
        }
        if end == u64::MAX {
            return false;
        }
        let n = company.len();
        let mut records = vec![[].as_slice(); n];
        for member in &self.members {
            if let Member::Waiting(place, wish) = member {
                let within = |step: &u64| wish.record.partition_point(|other| other < step);
                records[*place] = &wish.record[within(&self.step)..within(&end)];
            }
        }
        let mut recordings = vec![Vec::new(); n];
        let outcome = company.advance((end - self.step) as usize, &records, &mut recordings);
        self.step = end;
        for member in &mut self.members {
            let Member::Waiting(place, wish) = member else { continue };
            let place = *place;
            wish.recording.append(&mut recordings[place]);
            if let Err(error) = &outcome {
                *member = Member::Served(Err(error.clone()));
            } else if wish.end == end {
                *member = Member::Served(Ok(std::mem::take(&mut wish.recording)));
            }
        }
        if let Err(error) = outcome {
            self.company = Some(Err(error));
        }
        true
    }

    /// The stepper of a shot.
    fn of(&mut self, place: usize) -> Result<&mut dyn ElementStepper, DeviceError> {
        match &mut self.company {
            Some(Ok(company)) => Ok(company.of(place)),
            Some(Err(error)) => Err(error.clone()),
            None => unreachable!("a run that steps has a company"),
        }
    }
}

impl Gathering {
    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, Gathered>) -> MutexGuard<'a, Gathered> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a run among those that take place together. When it is dropped the others no longer wait for that run.
pub struct Seat {
    gathering: Arc<Gathering>,
    number: usize,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("number", &self.number).finish_non_exhaustive()
    }
}

/// The seats of so many runs, each of which must have a thread of its own.
pub fn seats(n: usize) -> Vec<Seat> {
    let members = (0..n).map(|_| Member::Awaited).collect();
    let state = Mutex::new(Gathered { members, ..Gathered::default() });
    let gathering = Arc::new(Gathering { state, changed: Condvar::new() });
    (0..n).map(|number| Seat { gathering: gathering.clone(), number }).collect()
}

impl Seat {
    /// Steps with the others, and how many these are, itself included. Waits until all have brought their steppers, or have ended.
    ///
    /// # Errors
    /// The device refuses to step them together.
    pub(crate) fn join<T: Real + 'static>(self, stepper: GpuStepper<T>) -> Result<(ShotStepper, usize), DeviceError> {
        self.join_as(stepper, Stepper::step, GpuShots::new)
    }

    fn join_as<S: Any + Send, C: Company + 'static>(
        self,
        stepper: S,
        step_of: impl Fn(&S) -> u64,
        gather: impl Fn(Vec<S>) -> Result<C, DeviceError>,
    ) -> Result<(ShotStepper, usize), DeviceError> {
        let mut state = self.gathering.lock();
        state.members[self.number] = Member::Brought(Box::new(stepper));
        // One of those that wait gathers all, when no other run is awaited.
        while state.company.is_none() {
            if state.is_awaited() {
                state = self.gathering.wait(state);
            } else {
                state.gather(&step_of, &gather);
                self.gathering.changed.notify_all();
            }
        }
        let place = match &state.members[self.number] {
            Member::Busy(place) => *place,
            _ => unreachable!("a run whose stepper was brought is in the company"),
        };
        state.of(place)?;
        let n = state.company.iter().flatten().map(|company| company.len()).sum();
        drop(state);
        Ok((ShotStepper { seat: self, place }, n))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.gathering.lock().members[self.number] = Member::Ended;
        self.gathering.changed.notify_all();
    }
}

/// The stepper of one of the runs that take place together.
#[derive(Debug)]
pub(crate) struct ShotStepper {
    seat: Seat,
    place: usize,
}

impl ShotStepper {
    /// What the stepper of this run does by itself.
    fn own<R>(&self, act: impl FnOnce(&mut dyn ElementStepper) -> Result<R, DeviceError>) -> Result<R, DeviceError> {
        act(self.seat.gathering.lock().of(self.place)?)
    }
}

impl Stepper for ShotStepper {
    type State = State;

    fn step(&self) -> u64 {
        self.seat.gathering.lock().step
    }

    fn reads_table(&self) -> bool {
        false
    }

    fn make(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError> {
        let (gathering, number) = (&self.seat.gathering, self.seat.number);
        let mut state = gathering.lock();
        state.of(self.place)?;
        let wish = Wish { end: state.step + steps.n as u64, record: steps.record.to_vec(), recording: Vec::new() };
        state.members[number] = Member::Waiting(self.place, wish);
        loop {
            if let Member::Served(outcome) = &mut state.members[number] {
                let outcome = std::mem::replace(outcome, Ok(Vec::new()));
                state.members[number] = Member::Busy(self.place);
                recording.append(&mut outcome?);
                return Ok(());
            }
            if state.serve() {
                gathering.changed.notify_all();
            } else {
                state = gathering.wait(state);
            }
        }
    }

    fn state(&self) -> Result<State, DeviceError> {
        self.own(|stepper| stepper.state())
    }
}

impl ElementStepper for ShotStepper {
    fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError> {
        self.own(|stepper| stepper.internal_force(displacement))
    }

    fn viscous_force(&mut self, motion: [&[f64]; 3]) -> Result<Vec<f64>, DeviceError> {
        self.own(|stepper| stepper.viscous_force(motion))
    }

    fn energy_sums(&mut self) -> Result<Option<EnergySums>, DeviceError> {
        self.own(|stepper| stepper.energy_sums())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Counts its steps. A recorded step gives the number of the shot and the step.
    struct Counter {
        shot: usize,
        step: u64,
    }

    impl Stepper for Counter {
        type State = State;

        fn step(&self) -> u64 {
            self.step
        }

        fn make(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError> {
            recording.extend(steps.record.iter().flat_map(|&step| [self.shot as f64, step as f64]));
            self.step += steps.n as u64;
            Ok(())
        }

        fn state(&self) -> Result<State, DeviceError> {
            Ok(State { step: self.step, external_work: self.shot as f64, ..State::default() })
        }
    }

    impl ElementStepper for Counter {
        fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError> {
            Ok(displacement.to_vec())
        }

        fn energy_sums(&mut self) -> Result<Option<EnergySums>, DeviceError> {
            Ok(None)
        }
    }

    /// Fails at the step `fails_at`.
    struct Counters {
        all: Vec<Counter>,
        fails_at: u64,
    }

    impl Company for Counters {
        fn advance(
            &mut self,
            n_steps: usize,
            records: &[&[u64]],
            recordings: &mut [Vec<f64>],
        ) -> Result<(), DeviceError> {
            if self.all[0].step + n_steps as u64 > self.fails_at {
                return Err(DeviceError::NoDriver);
            }
            for ((counter, record), recording) in self.all.iter_mut().zip(records).zip(recordings) {
                counter.advance(n_steps, &Default::default(), record, recording)?;
            }
            Ok(())
        }

        fn of(&mut self, shot: usize) -> &mut dyn ElementStepper {
            &mut self.all[shot]
        }

        fn len(&self) -> usize {
            self.all.len()
        }
    }

    fn join(seat: Seat, shot: usize, fails_at: u64) -> Result<(ShotStepper, usize), DeviceError> {
        seat.join_as(Counter { shot, step: 0 }, Stepper::step, |all| Ok(Counters { all, fails_at }))
    }

    /// Runs that ask for steps in other pieces, record other steps, look at their states in between and end at other times.
    #[test]
    fn runs_have_their_own_pieces_and_ends() {
        thread::scope(|scope| {
            for (shot, seat) in seats(5).into_iter().enumerate() {
                scope.spawn(move || {
                    if shot == 3 {
                        // It fails before it has a stepper.
                        return drop(seat);
                    }
                    let (mut stepper, n_at_once) = join(seat, shot, u64::MAX).unwrap();
                    assert_eq!(n_at_once, 4);
                    let (piece, every) = (7 + 5 * shot, 2 + shot as u64);
                    let (mut recording, mut expected) = (Vec::new(), Vec::new());
                    for k in 0..20 - 4 * shot as u64 {
                        let steps = k * piece as u64..(k + 1) * piece as u64;
                        assert_eq!(stepper.step(), steps.start);
                        let record: Vec<u64> = steps.filter(|step| step % every == 0).collect();
                        stepper.advance(piece, &Default::default(), &record, &mut recording).unwrap();
                        expected.extend(record.iter().flat_map(|&step| [shot as f64, step as f64]));
                        let state = stepper.state().unwrap();
                        assert_eq!((state.step, state.external_work), ((k + 1) * piece as u64, shot as f64));
                    }
                    assert_eq!(recording, expected, "shot {shot}");
                });
            }
        });
    }

    #[test]
    fn every_run_hears_of_a_device_that_fails() {
        thread::scope(|scope| {
            for (shot, seat) in seats(3).into_iter().enumerate() {
                scope.spawn(move || {
                    let (mut stepper, _) = join(seat, shot, 100).unwrap();
                    let mut advance = |n| stepper.advance(n, &Default::default(), &[], &mut Vec::new());
                    assert_eq!(advance(60 + shot), Ok(()));
                    assert_eq!(advance(60), Err(DeviceError::NoDriver));
                    assert_eq!(stepper.state(), Err(DeviceError::NoDriver));
                });
            }
        });
    }
}
