//! Messages as Linux 6.18 sent them, and what is read from them. Whether that is what the kernel means, the
//! tests in `kernel/` say, which know what was done.

use std::fmt::Write;
use tandem_linux::diag::{Connection, Subflow};
use tandem_linux::netlink::{Ack, GenericFamily, Message, Messages, kind};
use tandem_linux::pm::{Endpoint, Event};
use tandem_linux::route::{Address, Link, RouteEntry};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// What `read` makes of each message of the datagrams, one after another.
fn meanings<T: std::fmt::Debug>(hex: &str, read: impl Fn(&Message<'_>) -> T) -> String {
    let bytes = bytes(hex);
    let mut text = String::new();
    for message in Messages::new(&bytes) {
        let message = message.expect("the kernel's are well formed");
        if message.header.kind != kind::DONE && message.header.kind != kind::ERROR {
            writeln!(text, "{:#?}", read(&message)).expect("text has room");
        }
    }
    text
}

#[cfg(target_endian = "little")]
mod read {
    use super::*;

    #[test]
    fn link() {
        insta::assert_snapshot!(meanings(include_str!("captured/link.hex"), |m| Link::parse(m.payload)));
    }

    #[test]
    fn addresses() {
        let hex = include_str!("captured/addresses.hex");
        insta::assert_snapshot!(meanings(hex, |message| Address::parse(message.payload)));
    }

    #[test]
    fn routes() {
        let hex = include_str!("captured/routes.hex");
        insta::assert_snapshot!(meanings(hex, |message| RouteEntry::parse(message.payload)));
    }

    #[test]
    fn refusal() {
        let bytes = bytes(include_str!("captured/refused.hex"));
        let message = Messages::new(&bytes).next().expect("there is one").expect("it is well formed");
        let ack = Ack::parse(&message).expect("it is well formed");
        assert_eq!(ack, Ack { errno: 22, message: "address not found", missing: None });
    }

    #[test]
    fn family() {
        let hex = include_str!("captured/family.hex");
        insta::assert_snapshot!(meanings(hex, |message| GenericFamily::parse(message.payload)));
    }

    #[test]
    fn endpoints() {
        let hex = include_str!("captured/endpoints.hex");
        insta::assert_snapshot!(meanings(hex, |message| Endpoint::parse(message.payload)));
    }

    #[test]
    fn events() {
        let hex = include_str!("captured/events.hex");
        insta::assert_snapshot!(meanings(hex, |message| Event::parse(message.payload)));
    }

    #[test]
    fn subflows() {
        let hex = include_str!("captured/subflows.hex");
        insta::assert_snapshot!(meanings(hex, |message| Subflow::parse(message.payload)));
    }

    #[test]
    fn connection() {
        let hex = include_str!("captured/connection.hex");
        insta::assert_snapshot!(meanings(hex, |message| Connection::parse(message.payload)));
    }
}
