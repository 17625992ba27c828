//! Bytes that the application of one host has sent and received.

use mptcp::Event;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Task of an application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    /// Bytes to be sent.
    pub(crate) send: u64,
    /// Those of them that are sent before the gate is open.
    pub(crate) first: u64,
    /// Closes its direction only after the peer has closed the other.
    pub(crate) waits_for_end: bool,
    /// Sends the second half only after the peer has closed.
    pub(crate) answers_late: bool,
    /// Reads nothing before the gate is open.
    pub(crate) reads_late: bool,
    /// Distinguishes the two streams of a connection.
    pub(crate) stream: u8,
}

/// State of an application.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) is_connected: bool,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Offset of the first byte that differs from the byte sent.
    pub(crate) differs_at: Option<u64>,
    /// The peer has closed its direction.
    pub(crate) has_end: bool,
    /// Both directions are closed here.
    pub(crate) is_finished: bool,
    pub(crate) failure: Option<String>,
    /// Events of Tandem's endpoint.
    pub(crate) events: Vec<Event>,
}

/// State that the threads of a host share with the player of the case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared {
    progress: Arc<Mutex<Progress>>,
    stop: Arc<AtomicBool>,
    gate: Arc<AtomicBool>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    pub(crate) fn open_gate(&self) {
        self.gate.store(true, Ordering::Relaxed);
    }
    pub(crate) fn is_open(&self) -> bool {
        self.gate.load(Ordering::Relaxed)
    }
    /// Bytes that may be sent now. `has_end` says that the peer has closed.
    pub(crate) fn allowed(&self, script: &Script, has_end: bool) -> u64 {
        if self.is_open() && (has_end || !script.answers_late) { script.send } else { script.first }
    }
    /// Compares received bytes with those sent.
    pub(crate) fn receive(&self, script: &Script, bytes: &[u8]) {
        let mut progress = self.lock();
        let start = progress.received;
        let differs = |&(i, &byte): &(usize, &u8)| byte != byte_at(1 - script.stream, start + i as u64);
        let first = bytes.iter().enumerate().find(differs).map(|(i, _)| start + i as u64);
        progress.differs_at = progress.differs_at.or(first);
        progress.received += bytes.len() as u64;
    }
}

/// Byte of a stream at an offset.
fn byte_at(stream: u8, offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u8 ^ stream
}

/// Bytes of a stream.
pub(crate) fn bytes_at(stream: u8, from: u64, len: usize) -> Vec<u8> {
    (from..from + len as u64).map(|offset| byte_at(stream, offset)).collect()
}
