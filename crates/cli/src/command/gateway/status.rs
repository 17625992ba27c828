//! `tandem gateway status`.

use super::{TABLE, pid_path, runtime, system};
use crate::arguments::GatewayStatus;
use crate::failure::{Failure, reason};
use crate::output::{self, Terminal};
use linux::nft;
use linux::pid_file::PidFile;
use report::{Cell, Column, Row, Table};

pub(super) fn run(arguments: &GatewayStatus, terminal: Terminal) -> Result<(), Failure> {
    let Some(process) = PidFile::holder(&pid_path()).map_err(|error| system(&error))? else {
        return Err(Failure::Other {
            message: "no gateway is running".to_owned(),
            hint: "`tandem gateway up --upstream HOST:PORT` starts one".to_owned(),
        });
    };
    let agent: agent::status::Status = parsed(serde_json::from_str(&query("agent.sock")?))?;
    let proxy: proxy::status::Status = parsed(serde_json::from_str(&query("proxy.sock")?))?;
    let rules = nft::list(TABLE).map_err(|error| system(&error))?;
    let json = serde_json::json!({ "process": process, "agent": agent, "proxy": proxy, "rules": rules });
    let mut tables = agent::status::tables(&agent);
    let csv = tables[0].to_csv();
    if arguments.explain {
        tables.extend(agent::status::explanations(&agent));
    }
    tables.extend(proxy::status::tables(&proxy));
    if arguments.explain {
        tables.push(proxy::status::explanations());
    }
    tables.push(rules_table(rules.as_deref()));
    output::print(terminal, arguments.format, &tables, &json, || csv)
}

fn query(socket: &str) -> Result<String, Failure> {
    let path = runtime().join(socket);
    agent::status::query(&path, "/status").map_err(|error| Failure::Other {
        message: format!("no answer at {}: {}", path.display(), reason(&error)),
        hint: "the gateway may be starting or stopping; try it as root".to_owned(),
    })
}

fn parsed<T>(status: serde_json::Result<T>) -> Result<T, Failure> {
    status.map_err(|error| Failure::Other {
        message: format!("invalid answer of the gateway: {error}"),
        hint: "gateway and `tandem gateway status` may be of different versions".to_owned(),
    })
}

/// The nftables table, a line in each row.
fn rules_table(rules: Option<&str>) -> Table {
    let table = Table::new("redirection").column(Column::text("nftables"));
    let text = rules.unwrap_or("none: connections are direct");
    text.lines().fold(table, |table, line| table.row(Row::new([Cell::text(line.replace('\t', "  "))])))
}
