//! Errors as exceptions.

use pogo_formats::exit_code;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    pogo,
    Error,
    PyException,
    "Why Pogo cannot do what was asked, in the words that its commands print. `exit_code` is that of the command."
);

/// An error with the exit code that the command would have.
pub fn failure(py: Python<'_>, text: impl Into<String>, code: i32) -> PyErr {
    let error = Error::new_err(text.into().trim_end().to_owned());
    match error.value(py).setattr("exit_code", code) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Input that cannot be used.
pub fn bad_input(py: Python<'_>, text: impl Into<String>) -> PyErr {
    failure(py, text, exit_code::BAD_INPUT)
}

/// Options that cannot be used; the text is that of the command.
pub fn wrong_command_line(py: Python<'_>, error: &clap::Error) -> PyErr {
    failure(py, error.render().to_string(), error.exit_code())
}
