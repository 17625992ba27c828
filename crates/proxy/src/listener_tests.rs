//! A listener whose task has ended.

use super::*;
use crate::Config;
use std::net::TcpListener as StdListener;

#[tokio::test]
async fn listener_that_has_ended_is_opened_again() {
    let free = StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (serve, protocol) = (ListenerProtocol::Auto, Protocol::Tcp);
    let listen = Listen { address: free, serve, protocol, tls: false, send_buffer: None };
    let shared = Arc::new(Shared::new(Config { listen: vec![listen], ..Config::default() }));
    let mut listeners = Listeners::new(Arc::clone(&shared));
    listeners.add(Opened::new(&listen).unwrap());
    listeners.all[0].task.abort();
    while !listeners.all[0].task.is_finished() {
        tokio::task::yield_now().await;
    }
    let change = listeners.prepare(&[listen]).unwrap();
    listeners.apply(change, || shared.config()).await;
    let _client = TcpStream::connect(free).await.unwrap();
    let accepted = async {
        while shared.counters.totals().accepted == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(10), accepted).await.expect("the new task accepts it");
    assert_eq!(listeners.addresses(), [free]);
}
