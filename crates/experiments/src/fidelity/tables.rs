//! Tables of the fidelity matrix.

use super::{CaseResult, Errors, Fidelity, MAX_KERNEL_SPREAD};
use report::{Cell, Column, Row, Table, Tone};

/// Error above which a result is marked as bad.
const MAX_GOOD_ERROR: f64 = 0.15;

pub(super) fn tables(fidelity: &Fidelity) -> Vec<Table> {
    vec![scenarios(fidelity), summary(fidelity)]
}

fn summary(fidelity: &Fidelity) -> Table {
    let row = |name: String, errors: &Errors| {
        Row::new([
            Cell::text(name),
            Cell::number(errors.count() as f64, 0),
            Cell::number(100.0 * errors.median(), 1),
            Cell::number(100.0 * errors.largest(), 1),
            Cell::number(errors.within(0.05) as f64, 0),
            Cell::number(errors.within(0.10) as f64, 0),
            Cell::number(errors.within(MAX_GOOD_ERROR) as f64, 0),
        ])
    };
    let spread = 100.0 * MAX_KERNEL_SPREAD;
    let mut table = Table::new("Summary")
        .column(Column::text(""))
        .column(Column::number("scenarios"))
        .column(Column::number("median error").unit("%"))
        .column(Column::number("largest").unit("%"))
        .column(Column::number("within 5 %"))
        .column(Column::number("within 10 %"))
        .column(Column::number("within 15 %"))
        .row(row("all".to_owned(), &fidelity.errors()));
    let steady = fidelity.errors_of_steady();
    if steady.count() < fidelity.compared.len() {
        table = table.row(row(format!("kernel's runs agree within {spread:.0} %"), &steady));
    }
    table.note(format!(
        "Linux {}. Kernel: means of {} run{} of each scenario; simulator: means of {} seeds. Error: the simulator's \
         goodput relative to the kernel's. *: the kernel's own runs differ by more than {spread:.0} %.",
        fidelity.release,
        fidelity.runs[1],
        if fidelity.runs[1] == 1 { "" } else { "s" },
        fidelity.runs[0],
    ))
}

fn scenarios(fidelity: &Fidelity) -> Table {
    let mut table = Table::new("Goodput, Mbit/s")
        .column(Column::text("scenario"))
        .column(Column::number("kernel"))
        .column(Column::number("simulator"))
        .column(Column::number("error").unit("%"))
        .column(Column::number("wifi, kernel").key("wifi_kernel"))
        .column(Column::number("simulator").key("wifi_simulator"))
        .column(Column::number("lte, kernel").key("lte_kernel"))
        .column(Column::number("simulator").key("lte_simulator"))
        .column(Column::number("end, kernel").unit("s").key("completed_kernel_s"))
        .column(Column::number("simulator").unit("s").key("completed_simulator_s"));
    let mut group = "";
    for each in &fidelity.compared {
        if each.case.group != group {
            group = each.case.group;
            table = table.row(Row::heading(group));
        }
        table = table.row(row(each));
    }
    table
}

fn row(each: &CaseResult) -> Row {
    let CaseResult { case, simulated, kernel } = each;
    let error = Cell::number(100.0 * each.error(), 1);
    let is_good = each.error().abs() <= MAX_GOOD_ERROR;
    let error = if is_good { error } else { error.tone(Tone::Bad) };
    let mut cells = vec![
        Cell::text(if each.kernel_agrees() { case.name.clone() } else { format!("{} *", case.name) }),
        Cell::number(kernel.goodput_mbps, 2),
        Cell::number(simulated.goodput_mbps, 2),
        error,
    ];
    for path in 0..2 {
        // With a single path, its rate repeats the goodput.
        let of = |rates: &[f64]| rates.get(path).filter(|_| rates.len() > 1).copied().unwrap_or(f64::NAN);
        cells.push(Cell::number(of(&kernel.paths_mbps), 2));
        cells.push(Cell::number(of(&simulated.paths_mbps), 2));
    }
    cells.push(Cell::number(kernel.completed_s, 2));
    cells.push(Cell::number(simulated.completed_s, 2));
    Row::new(cells)
}
