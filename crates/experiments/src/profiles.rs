//! List of the radio profiles as a table and as JSON.

use crate::describe;
use radio::{Direction, Origin, Profile, Pulse, Stage};
use report::{Cell, Column, Row, Table};
use serde_json::{Value, json};
use units::Duration;

/// The profiles grouped by source, with their powers and the origin of their figures.
pub fn table(profiles: &[Profile]) -> Table {
    let mut table = Table::default()
        .column(Column::text("profile"))
        .column(Column::text("radio"))
        .column(Column::number("active").unit("mW"))
        .column(Column::number("down").unit("mW per Mbit/s"))
        .column(Column::number("up").unit("mW per Mbit/s"))
        .column(Column::number("promotion").unit("ms"))
        .column(Column::number("tail").unit("s"))
        .column(Column::text("digits"));
    let mut source = "";
    for profile in profiles {
        if profile.source != source {
            source = &profile.source;
            table = table.row(Row::heading(source));
        }
        let promotion = profile.promotion.as_ref().map_or(f64::NAN, |s| s.duration.as_secs_f64() * 1e3);
        let tail = profile.tail_time();
        table = table.row(Row::new([
            Cell::text(&*profile.name),
            Cell::text(profile.kind.as_str()),
            Cell::number(profile.active.as_milliwatts(), 1),
            Cell::number(profile.marginal(Direction::Down).as_milliwatts(), 2),
            Cell::number(profile.marginal(Direction::Up).as_milliwatts(), 2),
            Cell::number(promotion, 0),
            Cell::number(if endless(tail) { f64::NAN } else { tail.as_secs_f64() }, 2),
            Cell::text(digits(profile)),
        ]));
    }
    table.note(
        "Digits: *read* in the named source; *known* from the literature; *fit* to measurements; *assumed* without a \
         source. The tail counts from the last packet. `tandem profiles NAME` shows the whole profile with its note.",
    )
}

/// The profiles as JSON: powers in milliwatts, times in milliseconds.
pub fn json(profiles: &[Profile]) -> Value {
    let pulse = |pulse: &Option<Pulse>| {
        pulse.as_ref().map(|p| {
            json!({"power_mw": p.power.as_milliwatts(), "width_ms": ms(p.width), "period_ms": ms(p.period)})
        })
    };
    let stage = |stage: &Stage| {
        json!({
            "name": stage.name,
            "power_mw": stage.power.as_milliwatts(),
            "duration_ms": ms(stage.duration),
            "pulse": pulse(&stage.pulse),
        })
    };
    let list: Vec<Value> = profiles
        .iter()
        .map(|p| {
            json!({
                "name": p.name,
                "radio": p.kind.as_str(),
                "source": p.source,
                "note": p.note,
                "active_mw": p.active.as_milliwatts(),
                "down_mw_per_mbps": p.down_per_mbps.as_milliwatts(),
                "up_mw_per_mbps": p.up_per_mbps.as_milliwatts(),
                "promotion": p.promotion.as_ref().map(stage),
                "inactivity_ms": if endless(p.inactivity) { None } else { Some(ms(p.inactivity)) },
                "tail": p.tail.iter().map(stage).collect::<Vec<_>>(),
                "idle": {"power_mw": p.idle.power.as_milliwatts(), "pulse": pulse(&p.idle.pulse)},
                "origin": describe::origins(p),
            })
        })
        .collect();
    json!(list)
}

/// The distinct origins of a profile's figures, the most reliable first.
fn digits(profile: &Profile) -> String {
    let o = &profile.origins;
    let mut all = vec![o.rate, o.active, o.inactivity, o.idle];
    if profile.promotion.is_some() {
        all.push(o.promotion);
    }
    if !profile.tail.is_empty() {
        all.push(o.tail);
    }
    let used: Vec<&str> =
        Origin::ALL.iter().filter(|origin| all.contains(origin)).map(|origin| origin.as_str()).collect();
    used.join(", ")
}

fn endless(span: Duration) -> bool {
    span == Duration::MAX
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
