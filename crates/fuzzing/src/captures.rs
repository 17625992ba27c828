//! Captures: whatever a file holds, it is read to its end or to a clear error, and its books are right.

/// Any bytes as a pcap or pcapng file.
pub fn capture(bytes: &[u8]) {
    let Ok(told) = capture::analyse(bytes, &mut |_| {}) else { return };
    assert!(told.file_bytes <= bytes.len() as u64);
    assert!(told.segments <= told.packets);
    for connection in &told.connections {
        for (up, data) in [(true, &connection.up), (false, &connection.down)] {
            let carried = connection.subflows.iter().map(|one| if up { &one.up } else { &one.down });
            let mut new = 0;
            for one in carried {
                new += one.new_bytes;
                assert!(one.new_bytes + one.unmapped_bytes <= one.payload_bytes, "{one:?}");
                assert!(one.retransmitted_bytes <= one.payload_bytes, "{one:?}");
                assert!(one.data_segments <= one.segments, "{one:?}");
            }
            assert_eq!(new, data.bytes, "each new byte came over one subflow");
            assert!(data.peak_out_of_order_bytes <= data.bytes);
        }
    }
    // What is shown of it is shown.
    _ = (told.tables(), told.series_csv(), told.long_table().to_csv());
    _ = (told.to_json(), told.page("any").to_html());
}
