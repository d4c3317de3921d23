//! `pogo-solve`: maps a block file and runs it.
