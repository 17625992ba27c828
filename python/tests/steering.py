"""Built-in algorithms written again in Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tandem_mptcp as tm


class MinRtt(tm.Scheduler):
    """`min-rtt`."""

    def pick(
        self, candidates: Sequence[tm.Candidate], context: tm.SchedulerContext
    ) -> tm.Candidate | None:
        best = None
        for one in candidates:
            if one.room_bytes >= context.len_bytes and (best is None or one.srtt_s < best.srtt_s):
                best = one
        return best


class RoundRobin(tm.Scheduler):
    """`round-robin`."""

    def __init__(self) -> None:
        self.last = -1

    def pick(
        self, candidates: Sequence[tm.Candidate], context: tm.SchedulerContext
    ) -> tm.Candidate | None:
        later = [one for one in candidates if one.path > self.last]
        ready = [
            one
            for one in later + [one for one in candidates if one.path <= self.last]
            if one.room_bytes >= context.len_bytes
        ]
        return ready[0] if ready else None

    def on_scheduled(self, path: int, len_bytes: int) -> None:
        self.last = path


class WifiFirst(tm.Policy):
    """`wifi-first`."""

    name = "wifi-first"

    def observe(self, state: tm.DeviceState) -> Iterable[tm.Action]:
        preferred = any(path.up and not path.costly for path in state.paths)
        for path in state.paths:
            if path.costly and path.backup != preferred:
                yield tm.Action.backup(path.name) if preferred else tm.Action.regular(path.name)


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


class Lia(Reno):
    """`lia`, but for its rounding."""

    coupled = True

    def on_ack(
        self, acked_bytes: int, subflow: tm.SubflowView, coupling: tm.Coupling, window: tm.Window
    ) -> None:
        left = window.slow_start(acked_bytes)
        if left == 0 or coupling.own is None:
            return
        total = sum(one.cwnd_bytes for one in coupling.subflows)
        best = max(one.cwnd_bytes / one.srtt_s**2 for one in coupling.subflows)
        rate = sum(one.rate_bytes_per_s for one in coupling.subflows)
        increase = min(total * best / rate**2 / total, 1 / window.cwnd_bytes)
        window.cwnd_bytes += int(increase * left * subflow.mss_bytes)
