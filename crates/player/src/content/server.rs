//! A content server in a thread of its own.

use super::{Content, Log};
use crate::serve::{self, Limits};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A server that runs until it is dropped or told to [`stop`](Self::stop).
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves at a socket that listens, from a thread in the namespaces of the caller's. The socket may be one
/// of MPTCP's (`linux::socket::listen`).
///
/// # Errors
/// Where the socket or the thread cannot be had.
pub fn spawn(listener: TcpListener, content: Content, log: Option<Log>) -> io::Result<Serving> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::Builder::new().name("content".to_owned()).spawn(move || {
        runtime.block_on(async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            let content = Arc::new(content);
            let answer = move |_peer, request: hyper::Request<hyper::body::Incoming>| {
                let content = Arc::clone(&content);
                async move {
                    let path = request.uri().path().to_owned();
                    content.respond(&request, &path)
                }
            };
            let stop = async {
                // A sender that is dropped says the same.
                let _ = stopped.await;
            };
            serve::run(listener, Limits::default(), log, answer, stop).await;
        });
    })?;
    Ok(Serving { address, stop: Some(stop), thread: Some(thread) })
}

impl Serving {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, and waits for that: what is being answered may take some seconds.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // What it panicked of, it has said.
            let _ = thread.join();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.end();
    }
}
