//! Columns that a header names with their units.

use super::ParsedTrace;
use super::columns::{Header, RateUnit, Rows, Separator, has_time_unit, is_time};
use crate::trace::{TraceError, TraceFormat, TraceText};

/// The header names the unit of the rate: `mbps`, `kbit/s`, `bytes_per_second`. The column of the
/// rate is the one with a unit; of several, the one of the direction (`dl`, `download`, `rx` or
/// `ul`, `upload`, `tx`). A rate holds until the time of the next row, the last one as long as the
/// one before it. Rows without a rate (`-`) are skipped. The UCC 4G and 5G data sets (Raca et al.,
/// MMSys 2018 and 2020) are read by their `DL_bitrate` and `UL_bitrate` in kbit/s.
pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "csv",
    summary: "columns named by a header with the unit of the rate, such as `time,throughput_mbps`; the UCC \
              4G and 5G data sets",
    extensions: &[],
    first_entry: "a header",
    accepts: |line| {
        Header::of(line, Separator::of(line))
            .is_some_and(|header| header.names.len() > 2 || header.names.iter().any(|name| is_known(name)))
    },
    has_columns: true,
    parse,
    write: None,
};

const HINT: &str = "the first row names the columns and the unit of the rate, such as `time,throughput_mbps`";

fn is_known(name: &str) -> bool {
    RateUnit::in_name(name).is_some() || is_time(name) || has_time_unit(name)
}

fn parse(input: &TraceText<'_>) -> Result<ParsedTrace, TraceError> {
    Rows { input, unit: None, hint: HINT }.parse()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{RatePiece, TraceReading};
    use units::{Bitrate, Duration};

    /// Format, column, its unit, and mean rate in bit/s.
    fn read(text: &str) -> (&'static str, String, &'static str, u64) {
        column_of(&TraceText::new("a.csv", text))
    }

    fn column_of(text: &TraceText<'_>) -> (&'static str, String, &'static str, u64) {
        let reading = TraceReading::of(text, None).unwrap_or_else(|error| panic!("{error} ({})", error.hint));
        let column = reading.column.expect("a column");
        (reading.format, column.name, column.unit, reading.trace.mean_rate().as_bps())
    }

    fn error(text: &str) -> TraceError {
        let error = TraceReading::of(&TraceText::new("a.csv", text), None).unwrap_err();
        assert!(!error.hint.is_empty() && !error.expected.is_empty() && !error.found.is_empty());
        error
    }

    const UCC: &str = "Timestamp,Longitude,Latitude,Speed,Operatorname,CellID,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,\
DL_bitrate,UL_bitrate,State\n\
2018.02.12_16.14.02,-8.5,51.9,0,A,2,LTE,-99,-13,2.0,8,-80,5000,194,D\n\
2018.02.12_16.14.03,-8.5,51.9,0,A,2,LTE,-99,-13,2.0,8,-80,6000,130,D\n\
2018.02.12_16.14.03,-8.5,51.9,0,A,2,LTE,-99,-13,2.0,8,-80,8000,132,D\n\
2018.02.12_16.14.04,-8.5,51.9,0,A,2,LTE,-99,-13,2.0,8,-,-,-,D\n\
2018.02.12_16.14.05,-8.5,51.9,0,A,2,LTE,-99,-13,2.0,8,-80,12000,100,D\n";

    #[test]
    fn header_names_columns_and_units() {
        let mbps = ("csv", "throughput_mbps".to_owned(), "Mbit/s", 24_500_000);
        assert_eq!(read("timestamp,throughput_mbps\n0,24\n1,25\n"), mbps);
        assert_eq!(read("timestamp;throughput_mbps\n0;24,0\n1;25,0\n"), mbps);
        assert_eq!(read("timestamp\tthroughput_mbps\n1518452042123\t24\n1518452043123\t25\n"), mbps);
        assert_eq!(read("throughput_mbps timestamp\n24 0\n25 1\n"), mbps);
        assert_eq!(read("\"id\",\"time (ms)\",\"Mbit/s\"\nx,0,24\ny,500,25\n").3, 24_500_000);
        assert_eq!(read("t,throughput_kbps\n0,24000\n1,25000\n").3, 24_500_000);
        assert_eq!(read("second,bytes_per_second\n0,1000\n3,2000\n").3, 12_000);
        assert_eq!(read("time,bits_per_second,retries\n0,1000,1\n1,2000,0\n").3, 1500);
        assert_eq!(read("second,bytes\n0,1000\n1,2000\n").3, 12_000);
    }

    #[test]
    fn delays_are_no_times_of_rows() {
        let period = |text: &str| {
            let trace = TraceReading::of(&TraceText::new("a.csv", text), None).expect("a trace").trace;
            trace.period().as_millis()
        };
        assert_eq!(period("rtt_ms,timestamp,mbps\n10,0,5\n11,100,6\n12,200,7\n"), 300_000);
        assert_eq!(period("ms,timestamp,mbps\n12,0,5\n11,100,6\n"), 200_000);
        assert_eq!(period("ping_time_ms,ms,mbps\n12,0,5\n11,100,6\n"), 200);
        assert_eq!(period("id,jitter_ms,offset_ms,mbps\n1,12,0,5\n2,11,100,6\n"), 200);
        assert_eq!(period("mbps,ms\n5,0\n6,100\n"), 200);
        assert_eq!(period("second,date,mbps\n0,2018-02-12,5\n1,2018-02-12,6\n"), 2000);
        let without = error("rtt_ms,mbps\n10,5\n11,6\n");
        assert_eq!(
            without.to_string(),
            "a.csv:1: expected a column of times, found the columns `rtt_ms`, `mbps`"
        );
    }

    #[test]
    fn ucc_data_sets_are_read_in_both_directions() {
        let down = TraceText::new("a", UCC);
        // 5, 7 for two seconds, as the row without a rate repeats it, and 12.
        let mean = (5_000_000 + 2 * 7_000_000 + 12_000_000) / 4;
        assert_eq!(column_of(&down), ("csv", "DL_bitrate".to_owned(), "kbit/s", mean));
        assert_eq!(column_of(&down.up()).1, "UL_bitrate");
        assert_eq!(column_of(&down.up().column(Some("dl_bitrate"))).1, "DL_bitrate");
        assert_eq!(column_of(&down.column(Some("14"))).1, "UL_bitrate");
        let trace = TraceReading::of(&down, None).expect("a trace").trace;
        assert_eq!(trace.period(), Duration::from_secs(4));
        assert_eq!(trace.pieces()[1].rate, Bitrate::from_bps(7_000_000));
    }

    /// Length in seconds and rate in Mbit/s of each step.
    fn steps(text: &str) -> Vec<(u64, u64)> {
        let trace = TraceReading::of(&TraceText::new("a.csv", text), None).expect("a trace").trace;
        let step = |piece: &RatePiece| (piece.duration.as_millis() / 1000, piece.rate.as_bps() / 1_000_000);
        trace.pieces().iter().map(step).collect()
    }

    #[test]
    fn minutes_and_hours_are_units_of_time() {
        for name in ["time_min", "t (min)", "elapsed_minutes", "minutes"] {
            assert_eq!(steps(&format!("{name},mbps\n0,5\n1,6\n")), [(60, 5), (60, 6)], "{name}");
        }
        for name in ["time_h", "hours", "elapsed (hours)"] {
            assert_eq!(steps(&format!("{name},mbps\n0,5\n0.5,6\n")), [(1800, 5), (1800, 6)], "{name}");
        }
        assert_eq!(steps("id,min,minutes,mbps\n1,3,0,5\n2,3,1,6\n"), [(60, 5), (60, 6)]);
        assert_eq!(steps("s,min,mbps\n0,3,5\n1,3,6\n"), [(1, 5), (1, 6)], "`min` may be a minimum");
        let dated = error("time_min,mbps\n0,1\n2018-02-12,2\n");
        assert_eq!(dated.expected, "a number of minutes");
    }

    #[test]
    fn rows_without_a_rate_keep_their_times() {
        assert_eq!(steps("time,mbps\n0,-\n1,\n2,6\n3,7\n"), [(1, 6), (1, 6), (1, 6), (1, 7)]);
        assert_eq!(steps("time,mbps\n0,5\n1,6\n2,-\n3,-\n"), [(1, 5), (1, 6), (1, 6), (1, 6)]);
        assert_eq!(steps("time,mbps\n0,5\n,\n1,6\n"), [(1, 5), (1, 6)], "a row without a time");
        let date = "2018-02-12 10:00:0";
        let text = format!("time,mbps\n{date}0,-\n{date}0,4\n{date}0,6\n{date}0,-\n{date}1,7\n{date}2,-\n");
        assert_eq!(steps(&text), [(1, 5), (1, 7), (1, 7)], "rows of one second");
        assert_eq!(steps("second,bytes\n0,1e6\n1,-\n2,2e6\n"), [(1, 8), (1, 8), (1, 16)]);
        assert_eq!(error("time,mbps\n0,-\n1,-\n").line, None);
    }

    #[test]
    fn unclear_headers_are_reported() {
        let no_unit = error("time,throughput\n0,24\n1,25\n");
        assert_eq!(
            no_unit.to_string(),
            "a.csv:1: expected a column that names the unit of its rate, found `throughput`"
        );
        assert!(no_unit.hint.contains("`throughput_mbps`") && no_unit.hint.contains("`seconds-mbps`"));
        let per_millisecond = error("elapsed_ms,bytes_per_ms\n0,2500\n1000,2500\n");
        assert!(per_millisecond.found.contains("`bytes_per_ms`"), "{per_millisecond}");
        let two = error("time,a_mbps,b_mbps\n0,1,2\n");
        assert_eq!(&*two.hint, "choose the column: `column = \"a_mbps\"`");
        let amount = error("time,bytes\n0,1\n0.1,2\n");
        assert!(amount.line == Some(3) && amount.found.contains("two readings"));
        let text = TraceText::new("a.csv", "time,mbps\n0,1\n").column(Some("kbps"));
        let missing = TraceReading::of(&text, None).unwrap_err();
        assert_eq!(&*missing.hint, "the columns are `time`, `mbps`; numbers begin with 1");
        assert!(error("mbps,kbps\n1,2\n").found.contains("mbps"));
    }

    #[test]
    fn time_that_begins_anew_is_reported() {
        let error = error("time,mbps\n0,1\n1,2\n0,1\n");
        assert_eq!(error.to_string(), "a.csv:4: expected a time after 1, that of the row above, found `0`");
        assert!(error.hint.contains("begins anew"));
    }

    #[test]
    fn header_that_contradicts_the_format_is_reported() {
        let format = TraceFormat::named("second-bytes");
        let text = TraceText::new("a.csv", "time,throughput_mbps\n0,24\n");
        let error = TraceReading::of(&text, format).unwrap_err();
        let message =
            "a.csv:1: expected a column in bytes/s, as the format says, found `throughput_mbps`, in Mbit/s";
        assert_eq!(error.to_string(), message);
    }
}
