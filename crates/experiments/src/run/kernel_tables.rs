//! Tables of a run on a kernel.

use super::tables::count;
use super::{CapturedSubflow, Kernel, Reaction};
use report::{Cell, Column, Row, Table, Tone};

/// Release and emulator delays of the kernel run.
pub(super) fn kernel(kernel: &Kernel) -> Table {
    let [device, server] = kernel.stacks;
    let [median, p99, longest] = kernel.lateness.map(|late| Cell::number(late.as_secs_f64() * 1e3, 3));
    Table::new("Kernel")
        .column(Column::text("Linux"))
        .column(Column::text("stack of the device").key("stack_device"))
        .column(Column::text("of the server").key("stack_server"))
        .column(Column::number("emulator delay, median").unit("ms").key("late_median_ms"))
        .column(Column::number("p99").unit("ms").key("late_p99_ms"))
        .column(Column::number("maximum").unit("ms").key("late_longest_ms"))
        .column(Column::number("MP_PRIO received").key("priorities_heard"))
        .row(Row::new([
            Cell::text(&*kernel.release),
            Cell::text(device),
            Cell::text(server),
            median,
            p99,
            longest,
            count(kernel.priorities_heard),
        ]))
}

/// Reaction times by path; `None` if the policy never stopped using a path.
pub(super) fn reactions(kernel: &Kernel) -> Option<Table> {
    let table = Table::new("Reaction time from decision to last payload, medians")
        .column(Column::text("path"))
        .column(Column::number("decisions"))
        .column(Column::number("signalling").unit("ms").key("order_ms"))
        .column(Column::number("link").unit("ms").key("link_ms"))
        .column(Column::number("sender").unit("ms").key("sender_ms"))
        .column(Column::number("total").unit("ms").key("took_ms"))
        .column(Column::number("maximum").unit("ms").key("longest_ms"))
        .column(Column::number("committed").unit("kB").key("given_kb"))
        .column(Column::number("its transmission").unit("ms").key("given_needs_ms"))
        .column(Column::number("unexplained").unit("ms").key("unexplained_ms"));
    let mut paths: Vec<&str> = kernel.reactions.iter().map(|reaction| &*reaction.path).collect();
    paths.sort_unstable();
    paths.dedup();
    if paths.is_empty() {
        return None;
    }
    let rows = paths.into_iter().map(|path| reaction_row(path, &kernel.reactions));
    Some(
        rows.fold(table, Table::row)
            .note("Signalling and link: one round-trip time, including the link’s queue.")
            .note(
                "Sender: data committed to the path’s subflow before the signal. A change of priority does not \
                 withdraw it.",
            ),
    )
}

fn reaction_row(path: &str, reactions: &[Reaction]) -> Row {
    let sorted = |value: fn(&Reaction) -> f64| {
        let of_path = reactions.iter().filter(|reaction| reaction.path == path);
        let mut all: Vec<f64> = of_path.map(|reaction| value(reaction) * 1e3).collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    };
    let median = |value: fn(&Reaction) -> f64| {
        let all = sorted(value);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let total = sorted(|reaction| reaction.total.as_secs_f64());
    let cells = [
        median(|reaction| reaction.signalling.as_secs_f64()),
        median(|reaction| reaction.link.as_secs_f64()),
        median(|reaction| reaction.sender.as_secs_f64()),
        median(|reaction| reaction.total.as_secs_f64()),
        total.last().copied().unwrap_or(f64::NAN),
        // In kB: `sorted` multiplies by 1000.
        median(|reaction| reaction.committed.get() as f64 * 1e-6),
        median(|reaction| reaction.committed_time.as_secs_f64()),
        median(|reaction| reaction.sender.as_secs_f64() - reaction.committed_time.as_secs_f64()),
    ];
    let row = Row::new([Cell::text(path), count(total.len() as u64)]);
    cells.map(|value| Cell::number(value, 0)).into_iter().fold(row, Row::cell)
}

/// Comparison of the capture with the kernel's counters; `None` without a capture.
pub(super) fn captured(kernel: &Kernel) -> Option<Table> {
    let table = Table::new("Capture compared with the kernel’s counters")
        .column(Column::text("path"))
        .column(Column::text("subflow from").key("client"))
        .column(Column::number("received: capture").unit("bytes").key("received_captured"))
        .column(Column::number("kernel").unit("bytes").key("received_counted"))
        .column(Column::number("acknowledged: capture").unit("bytes").key("acknowledged_captured"))
        .column(Column::number("kernel").unit("bytes").key("acknowledged_counted"));
    let row = |subflow: &CapturedSubflow| {
        let counts = subflow.received.into_iter().chain(subflow.acknowledged).map(count);
        let cells = counts.map(|cell| if subflow.agrees() { cell } else { cell.tone(Tone::Bad) });
        cells.fold(Row::new([Cell::text(&*subflow.path), Cell::text(&*subflow.client)]), Row::cell)
    };
    let table = kernel.captured.iter().map(row).fold(table, Table::row);
    let differing = kernel.captured.iter().filter(|subflow| !subflow.agrees()).count();
    let table = match differing {
        0 => table.note("Capture and counters agree to the byte."),
        1 => table.note("One subflow differs: the kernel drops data beyond its receive buffer."),
        n => table.note(format!("{n} subflows differ: the kernel drops data beyond its receive buffer.")),
    };
    (!kernel.captured.is_empty()).then_some(table)
}
