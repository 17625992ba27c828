use super::*;
use crate::status::{AllowanceStatus, Connection, EnergyStatus, Subflow};
use report::TextStyle;

#[test]
fn sizes_have_three_significant_digits() {
    let cases =
        [(0, "0 B"), (999, "999 B"), (1_190, "1.19 kB"), (83_700, "83.7 kB"), (5_000_000_000, "5.00 GB")];
    for (bytes, text) in cases {
        assert_eq!(size(bytes), text);
    }
}

#[test]
fn status_formats_as_tables_and_round_trips_as_json() {
    let mut status = Status { policy: "wifi-first".to_owned(), running_s: 4_210.0, ..Status::default() };
    let wifi = Interface {
        name: "wlan0".to_owned(),
        kind: "wifi".to_owned(),
        link: "up".to_owned(),
        down_mbps: 15.8,
        down_bytes: 5_900_000,
        share: Some(0.98),
        energy: Some(EnergyStatus {
            power_state: "active".to_owned(),
            joules: 6.94,
            ..EnergyStatus::default()
        }),
        ..Interface::default()
    };
    let allowance = AllowanceStatus {
        data_bytes: 5_000_000_000,
        used_bytes: 5_000_000_000,
        per: "month".to_owned(),
        is_up: true,
        ..AllowanceStatus::default()
    };
    let lte = Interface {
        name: "wwan0".to_owned(),
        kind: "lte".to_owned(),
        link: "closed".to_owned(),
        backup: true,
        allowance: Some(allowance),
        ..Interface::default()
    };
    let mut cautious = lte.clone();
    cautious.allowance.as_mut().unwrap().used_bytes = 4_900_000_000;
    status.interfaces = vec![wifi, lte, cautious];
    let player = PlayerStatus {
        session: "6e2fb550".to_owned(),
        object: Some("v".to_owned()),
        buffer_s: Some(12.34),
        bitrate_kbps: Some(8_000.0),
        missing_bytes: Some(1_250_000),
        silent_s: 0.08,
        ..PlayerStatus::default()
    };
    let other = PlayerStatus { urgent: true, ..PlayerStatus::default() };
    status.players = vec![player, other];
    let subflow =
        Subflow { interface: "wlan0".to_owned(), rtt_ms: 12.3, down_bytes: 4_000_000, ..Subflow::default() };
    status.connections = Some(Connections {
        count: 2,
        subflows: 1,
        most: vec![Connection {
            token: 0xbc8e_1f60,
            remote: "192.0.2.1:443".to_owned(),
            down_bytes: 5_000_000,
            up_bytes: 0,
            ended_bytes: 1_000_000,
            subflows: vec![subflow],
        }],
    });
    let text: Vec<String> =
        tables(&status).iter().map(|table| table.to_text(TextStyle { colour: false, width: 100 })).collect();
    insta::assert_snapshot!(text.join("\n"));
    status.interfaces.iter_mut().for_each(|one| one.energy = None);
    let without_radios = tables(&status)[0].to_text(TextStyle { colour: false, width: 100 });
    assert!(!without_radios.contains("radio") && !without_radios.contains("energy"), "{without_radios}");
    status.interfaces[0].energy = Some(EnergyStatus::default());
    let json = serde_json::to_string(&status).unwrap();
    assert_eq!(serde_json::from_str::<Status>(&json).unwrap(), status);
}

#[test]
fn every_column_is_explained() {
    let mut status = Status { connections: Some(Connections::default()), ..Status::default() };
    status.players = vec![PlayerStatus::default()];
    status.interfaces = vec![Interface { energy: Some(EnergyStatus::default()), ..Interface::default() }];
    for (table, explanation) in tables(&status).iter().zip(explanations(&status)) {
        let explained = explanation.to_csv();
        let headers = table.to_csv();
        for header in headers.lines().next().unwrap_or_default().split(',') {
            let name = header.split(" (").next().unwrap_or_default();
            assert!(explained.contains(name), "{name} in {explained}");
        }
    }
}
