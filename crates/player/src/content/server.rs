//! Content server in its own thread.

use super::{Content, Log};
use crate::serve::Server;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A running server; it ends when dropped or [stopped](Self::stop).
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves on a listening socket, from a thread in the caller's namespaces. The socket may be an
/// MPTCP one (`linux::socket::listen`).
///
/// # Errors
/// If the socket or the thread cannot be set up.
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
                // A dropped sender stops the server as well.
                let _ = stopped.await;
            };
            Server { log, ..Server::default() }.run(listener, answer, stop).await;
        });
    })?;
    Ok(Serving { address, stop: Some(stop), thread: Some(thread) })
}

impl Serving {
    /// Address of the listening socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the server and waits for it: pending responses may take some seconds.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // The panic message was already printed.
            let _ = thread.join();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.end();
    }
}
