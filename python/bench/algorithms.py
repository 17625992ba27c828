"""Algorithms in Python whose cost is measured: each decides as a built-in one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tandem_mptcp as tm


class WifiFirst(tm.Policy):
    """`wifi-first`, which also reads the state of each path ten times a second."""

    def observe(self, state: tm.DeviceState) -> Iterable[tm.Action]:
        preferred = any(path.up and not path.costly for path in state.paths)
        for path in state.paths:
            if path.costly and path.backup != preferred:
                yield tm.Action.backup(path.name) if preferred else tm.Action.regular(path.name)


class MinRtt(tm.Scheduler):
    """`min-rtt`."""

    def pick(
        self, candidates: Sequence[tm.Candidate], context: tm.SchedulerContext
    ) -> tm.Candidate | None:
        ready = [one for one in candidates if one.room_bytes >= context.len_bytes]
        return min(ready, key=lambda one: one.srtt_s, default=None)


class Reno(tm.CongestionControl):
    """`reno`."""

    def __init__(self) -> None:
        self.acked_bytes = 0

    def on_ack(
        self, acked_bytes: int, subflow: tm.SubflowView, coupling: tm.Coupling, window: tm.Window
    ) -> None:
        self.acked_bytes += window.slow_start(acked_bytes)
        if self.acked_bytes >= window.cwnd_bytes:
            self.acked_bytes -= window.cwnd_bytes
            window.cwnd_bytes += subflow.mss_bytes

    def on_loss(self, subflow: tm.SubflowView, window: tm.Window) -> None:
        window.halve(subflow)
        self.acked_bytes = 0

    def on_timeout(self, subflow: tm.SubflowView, window: tm.Window) -> None:
        window.halve(subflow)
        window.cwnd_bytes = subflow.mss_bytes
        self.acked_bytes = 0
