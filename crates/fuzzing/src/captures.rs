//! Target of capture analysis: a file is analysed or rejected, and the counters are consistent.

/// Fuzz target: a pcap or pcapng file.
pub fn capture(bytes: &[u8]) {
    let Ok(analysis) = capture::analyse(bytes, &mut |_| {}) else { return };
    assert!(analysis.file_bytes <= bytes.len() as u64);
    assert!(analysis.segments <= analysis.packets);
    for connection in &analysis.connections {
        for (up, data) in [(true, &connection.up), (false, &connection.down)] {
            let carried = connection.subflows.iter().map(|one| if up { &one.up } else { &one.down });
            let mut new = 0;
            for one in carried {
                new += one.new_bytes;
                assert!(one.new_bytes + one.unmapped_bytes <= one.payload_bytes, "{one:?}");
                assert!(one.retransmitted_bytes <= one.payload_bytes, "{one:?}");
                assert!(one.data_segments <= one.segments, "{one:?}");
            }
            assert_eq!(new, data.bytes, "each new byte belongs to one subflow");
            assert!(data.peak_out_of_order_bytes <= data.bytes);
        }
    }
    // All outputs can be rendered.
    _ = (analysis.tables(), analysis.series_csv(), analysis.long_table().to_csv());
    _ = (analysis.to_json(), analysis.page("any").to_html());
}
