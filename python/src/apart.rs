//! Work on a thread of its own, while the calling one looks for signals and hands on what is told.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use pogo_formats::system::threads;
use pyo3::prelude::*;

use crate::failure::bad_input;
use crate::watch::{Event, Stopped};

/// How long a signal may wait.
const TICK: Duration = Duration::from_millis(50);

/// Does `work` without the interpreter's lock. What it sends is handed to `tell`. Where a signal or `tell` raises an exception,
/// `stop` is called, and the exception is given beside the result once the work has ended. Work that
/// unwinds is an error of ours, never a panic in Python.
pub fn apart<R: Send>(
    py: Python<'_>,
    tell: Option<Bound<'_, PyAny>>,
    stop: impl Fn(),
    work: impl FnOnce(Sender<Event>) -> R + Send,
) -> PyResult<(R, Option<PyErr>)> {
    let (sender, mut events) = channel();
    let mut stopped: Option<PyErr> = None;
    let ended = std::thread::scope(|scope| {
        let caught = move || catch_unwind(AssertUnwindSafe(|| work(sender)));
        let worker = threads::spawn_scoped(scope, "pogo", caught).map_err(|error| error.to_string())?;
        loop {
            let receiver = &mut events;
            let event = py.detach(move || receiver.recv_timeout(TICK));
            let heard = match (event, &tell) {
                (Err(RecvTimeoutError::Disconnected), _) => break,
                (Ok(event), Some(tell)) if stopped.is_none() => event.tell(tell),
                _ => Ok(()),
            };
            if stopped.is_none()
                && let Err(error) = heard.and_then(|()| py.check_signals())
            {
                stop();
                stopped = Some(error);
            }
        }
        Ok(py.detach(|| worker.join()).unwrap_or_else(Err))
    });
    match ended.map_err(|text: String| bad_input(py, format!("error: {text}")))? {
        Ok(result) => Ok((result, stopped)),
        Err(payload) => Err(match stopped {
            Some(error) if payload.is::<Stopped>() => error,
            _ => bad_input(py, format!("error: Pogo has failed, which is a mistake of its own: {}", words(&*payload))),
        }),
    }
}

fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no reason is known")
}
