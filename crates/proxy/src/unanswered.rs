//! Unanswered requests to a converter, by client and server. They bound a loop of Convert upstreams:
//! its requests come from one proxy, are for one server, and none is answered before the last.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

/// Unanswered requests of a client for a server at once.
const MAX_UNANSWERED: usize = 32;

/// Numbers of unanswered requests.
#[derive(Debug, Default)]
pub(crate) struct Unanswered(Mutex<HashMap<(IpAddr, SocketAddr), usize>>);

/// Entry of a request; removed on drop.
#[derive(Debug)]
pub(crate) struct Pending<'a> {
    table: &'a Unanswered,
    key: (IpAddr, SocketAddr),
}

impl Unanswered {
    /// Enters a request of a client, which is a key of limits; `None` if too many wait.
    pub(crate) fn enter(&self, client: IpAddr, server: SocketAddr) -> Option<Pending<'_>> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = table.entry((client, server)).or_default();
        (*count < MAX_UNANSWERED).then(|| {
            *count += 1;
            Pending { table: self, key: (client, server) }
        })
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let mut table = self.table.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = table.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                table.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unanswered_requests_are_limited_per_client_and_server() {
        let (table, client) = (Unanswered::default(), IpAddr::from([192, 0, 2, 1]));
        let server = |last| SocketAddr::from(([198, 51, 100, last], 443));
        let mut waiting: Vec<_> = (0..40).filter_map(|_| table.enter(client, server(1))).collect();
        assert_eq!(waiting.len(), MAX_UNANSWERED);
        assert!(table.enter(client, server(2)).is_some());
        assert!(table.enter(IpAddr::from([192, 0, 2, 2]), server(1)).is_some());
        waiting.pop();
        assert!(table.enter(client, server(1)).is_some());
        drop(waiting);
        assert!(table.0.lock().unwrap().is_empty());
    }
}
