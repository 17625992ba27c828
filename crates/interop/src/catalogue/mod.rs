//! The plans: tasks of two hosts, with the expected results.

mod conditions;
mod middleboxes;
mod paths;
mod transfers;

use crate::plan::{Action, Expected, Join, Plan};

const FAST: &str = "rate = '200Mbps', delay = '2ms', queue = '200ms'";

const BASE: Plan = Plan {
    name: "",
    about: "",
    paths: 1,
    checksum: false,
    up: 200_000,
    down: 200_000,
    client_closes_first: false,
    server_closes_first: false,
    half_close: false,
    reads_late: false,
    join: Join::None,
    action: Action::None,
    expected: Expected::Mptcp,
    link: FAST,
    boxes: "",
    box_path: 0,
    reset: None,
    corrupts: false,
    buffers: None,
    tolerates: &[],
};

const TWO_PATHS: Plan = Plan { paths: 2, join: Join::Client, up: 400_000, down: 400_000, ..BASE };

/// All plans, in the order of the page.
pub fn plans() -> Vec<Plan> {
    let mut plans = transfers::plans();
    plans.extend(paths::plans());
    plans.extend(middleboxes::plans());
    plans.extend(conditions::plans());
    plans
}
