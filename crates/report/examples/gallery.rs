//! Writes a sample page with all kinds of blocks and charts: `gallery [FILE]` (default
//! `gallery.html`).

use std::error::Error;
use tandem_report::{
    Axis, Badge, Bars, Cell, Column, Estimate, Lane, Line, Lines, Mark, Page, Panel, Row, Section, Table,
    Timeline,
};
use units::{Instant, Seed};

#[allow(clippy::disallowed_methods, reason = "the example writes a file")]
fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "gallery.html".to_owned());
    std::fs::write(&file, page().to_html())?;
    print!("{}", cases().to_text(tandem_report::TextStyle::PLAIN));
    println!("{file}");
    Ok(())
}

fn page() -> Page {
    Page::new("eMTCP: savings from moving a quarter of the bytes to Wi-Fi")
        .lead(
            "A phone with Wi-Fi and LTE can send every byte over either. The paper’s algorithm moves 24 % of \
             what waits for LTE to Wi-Fi and so lowers the power of its radios by 14 %. Here are its four \
             cases, simulated with 30 seeds each, beside the figures it prints.",
        )
        .section(
            Section::new("The four cases")
                .prose(
                    "The two single-path cases were *calibrated*: the model’s two unknowns were fitted to them. \
                     The two multipath cases are **predictions**; the model was not shown their figures. \
                     See [the sweep](#offload-share) for what other shares give.",
                )
                .facts([
                    ("Seeds", "30, from 1 on"),
                    ("Simulated", "150 s each"),
                    ("Power profile", "`chen2013`, fitted to cases 1 and 2"),
                ])
                .table(cases())
                .charts([
                    bars("Throughput (Fig. 5)", Axis::new("throughput").unit("Mbit/s"), 2, [0.846, 0.934, 1.951, 1.910], [0.85, 0.93, 1.93, 1.89]),
                    bars("Energy rate (Fig. 6)", Axis::new("energy rate").unit("J/s"), 3, [0.052, 0.505, 0.628, 0.539], [0.052, 0.505, 0.641, 0.522]),
                    bars("Quality (Fig. 7)", Axis::new("PSNR").unit("dB"), 1, [16.274, 23.964, 27.029, 32.572], [16.3, 23.9, 26.8, 31.9]),
                    bars("Battery life (Fig. 8)", Axis::new("lifespan").unit("s"), 0, [5769.0, 594.0, 477.0, 556.0], [5769.0, 594.0, 468.0, 575.0]),
                ]),
        )
        .section(
            Section::new("Offload share")
                .prose("Beyond a quarter, Wi-Fi is saturated: moved bytes queue, and efficiency falls.")
                .chart(sweep()),
        )
        .section(
            Section::new("One run, second by second")
                .prose(
                    "Seed 1 of the eMTCP case with the radios of Huang et al. 2012. The LTE radio hardly ever \
                     sleeps: its tail of 11 s is longer than any pause in the stream.",
                )
                .chart(timeline()),
        )
        .section(
            Section::new("Scenario")
                .prose("The scenario as text; `<script>alert(1)</script>` in a title does no harm.")
                .details("emtcp.toml", SCENARIO),
        )
        .footer("Made by `tandem` 0.1.0.")
}

fn cases() -> Table {
    let mut table = Table::new("Ours beside the paper’s")
        .column(Column::text("case"))
        .column(Column::number("throughput").unit("Mbit/s"))
        .column(Column::number("paper").unit("Mbit/s"))
        .column(Column::number("difference"))
        .column(Column::number("energy rate").unit("J/s"))
        .column(Column::number("paper").unit("J/s"))
        .column(Column::number("difference"))
        .column(Column::text("quality"))
        .note("Mean of 30 seeds with its 95 % interval. Within 5 % (throughput) and 10 % (energy) is good.");
    let rows = [
        ("tcp-wifi", (0.848, 0.002, 0.846), (0.0521, 0.0002, 0.052), "Poor", true),
        ("tcp-lte", (0.931, 0.011, 0.934), (0.5044, 0.0061, 0.505), "Fair", true),
        ("mptcp", (1.933, 0.012, 1.951), (0.6412, 0.0070, 0.628), "Fair", false),
        ("emtcp", (1.889, 0.014, 1.910), (0.4721, 0.0065, 0.539), "Good", false),
    ];
    for (index, (name, rate, power, quality, calibrated)) in rows.into_iter().enumerate() {
        if index == 0 {
            table = table.row(Row::heading("One path"));
        } else if index == 2 {
            table = table.row(Row::heading("Both paths"));
        }
        let difference = |(ours, _, theirs): (f64, f64, f64), limit: f64| {
            let cell = Cell::difference(ours, theirs, 1);
            if calibrated { cell } else { cell.good_if((ours / theirs - 1.0).abs() < limit) }
        };
        table = table.row(
            Row::new([
                Cell::text(name),
                Cell::estimate(Estimate::new(rate.0, rate.1), 3),
                Cell::number(rate.2, 3),
                difference(rate, 0.05),
                Cell::estimate(Estimate::new(power.0, power.1), 3),
                Cell::number(power.2, 3),
                difference(power, 0.1),
                Cell::text(quality),
            ])
            .badge(if calibrated { Badge::calibrated() } else { Badge::predicted() }),
        );
    }
    table
}

fn bars(title: &str, axis: Axis, decimals: usize, paper: [f64; 4], ours: [f64; 4]) -> Bars {
    Bars::new(title, axis)
        .decimals(decimals)
        .groups(["TCP, Wi-Fi\ncalibrated", "TCP, LTE\ncalibrated", "MPTCP\npredicted", "eMTCP\npredicted"])
        .series("Tandem", ours.map(|mean| Estimate::new(mean, mean * 0.03)))
        .reference("paper", paper.map(Estimate::exact))
}

fn sweep() -> Lines {
    let efficiency = |share: f64| {
        let moved = share.min(0.26);
        let lost = (share - 0.26).max(0.0);
        3.06 + 2.3 * moved - 1.9 * lost
    };
    let points = (0..=25).map(|i| (f64::from(i) * 4.0, f64::from(i) * 0.04));
    let paper = [(0.0, 3.107), (12.0, 3.35), (24.0, 3.544), (36.0, 3.30), (60.0, 2.8), (100.0, 2.1)];
    Lines::new(
        "Energy efficiency against offload share (Fig. 4)",
        Axis::new("offload share").unit("%"),
        Axis::new("efficiency").unit("Mbit/J"),
    )
    .line(
        Line::estimates(
            "Tandem",
            points.map(|(percent, share)| (percent, Estimate::new(efficiency(share), 0.06))),
        )
        .dots(),
    )
    .line(
        Line::new("paper", paper.iter().map(|p| p.0).collect(), paper.iter().map(|p| p.1).collect())
            .reference()
            .dots(),
    )
    .mark(Mark::vertical(24.0, "24 %, as in the paper"))
    .mark(Mark::point(28.0, efficiency(0.28), "best: 28 %"))
    .caption("Mean of 30 seeds; the band is the 95 % interval. The paper’s points are read from its figure.")
}

fn timeline() -> Timeline {
    let mut rng = Seed::new(1).rng("gallery");
    let count = 1500;
    let mut wander = |mean: f64, spread: f64, keep: f64| -> Vec<f64> {
        let mut level = 0.0;
        (0..count)
            .map(|_| {
                level = keep * level + (1.0 - keep) * rng.normal() * 3.0;
                (mean + spread * level).max(0.0)
            })
            .collect()
    };
    let wifi = wander(1.0, 0.12, 0.8);
    let mut lte = wander(0.9, 0.3, 0.9);
    lte[400..430].fill(0.0);
    lte[900..1050].fill(0.0);
    let energy: Vec<f64> = lte
        .iter()
        .scan(0.0, |sum, rate| {
            *sum += 0.05 * (1.0 + rate);
            Some(*sum)
        })
        .collect();
    let srtt: Vec<f64> = wander(110.0, 22.0, 0.95);
    let srtt_wifi: Vec<f64> = wander(16.0, 5.0, 0.9);
    let cwnd: Vec<f64> = (0..count).map(|i| 12_000.0 + f64::from(i * 137 % 290) * 120.0).collect();
    let cwnd_wifi: Vec<f64> = (0..count).map(|i| 8_000.0 + f64::from(i * 31 % 190) * 60.0).collect();
    let [wifi_radio, lte_radio] = radio_lanes();
    let line = |name: &str, y: Vec<f64>| Line::sampled(name, 0.0, 0.1, y);
    Timeline::new("Both paths over 150 s")
        .panel(Panel::new(Axis::new("rate").unit("Mbit/s")).line(line("wifi", wifi)).line(line("lte", lte)))
        .panel(
            Panel::new(Axis::new("smoothed round-trip time").unit("ms"))
                .line(line("wifi", srtt_wifi))
                .line(line("lte", srtt)),
        )
        .panel(
            Panel::new(Axis::new("congestion window").unit("byte"))
                .line(line("wifi", cwnd_wifi))
                .line(line("lte", cwnd)),
        )
        .panel(
            Panel::new(Axis::new("energy of both radios").unit("J"))
                .line(line("both", energy))
                .mark(Mark::vertical(90.0, "the source pauses")),
        )
        .lane(wifi_radio)
        .lane(lte_radio)
        .caption("Sampled every 100 ms; congestion windows are those of the sender.")
}

/// Power states of both radios.
fn radio_lanes() -> [Lane; 2] {
    let lte_states = [
        (0, "Idle"),
        (300, "Promotion"),
        (560, "Active"),
        (40_000, "Tail"),
        (43_000, "Active"),
        (90_000, "Tail"),
        (101_000, "Idle"),
        (105_000, "Promotion"),
        (105_260, "Active"),
        (139_000, "Tail"),
    ];
    let wifi_states: Vec<(u64, &str)> = (0..700)
        .flat_map(|i| [(i * 210, "Active"), (i * 210 + 60 + i * 7 % 130, "Tail"), (i * 210 + 195, "PSM")])
        .collect();
    let lane = |name: &str, states: &[(u64, &str)]| {
        let changes: Vec<_> = states.iter().map(|(ms, state)| (Instant::from_millis(*ms), *state)).collect();
        Lane::from_changes(name, &changes, Instant::from_secs(150))
    };
    [lane("wifi radio", &wifi_states), lane("lte radio", &lte_states)]
}

const SCENARIO: &str = r#"seed = 1
duration = "150s"

[device]
battery = "300J"
policy = { name = "emtcp", share = 0.24, actuator = "ideal" }

[[path]]
name = "wifi"
radio = "huang2012.wifi"
down = { rate = "2Mbps", delay = "5ms", queue = "50 packets", loss = { gilbert = { p = 0.01, r = 0.3 } } }
up   = { rate = "2Mbps", delay = "5ms" }
"#;
