"""Congestion controls in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ._native import Coupling, RateSample, SubflowView, Window

__all__ = ["CongestionControl"]


class CongestionControl(ABC):
    """Sets the congestion window of one subflow, in bytes.

    Subclasses define the first three methods. Only the other methods that a subclass defines are
    called.

    >>> import tandem_mptcp as tm
    >>> class Gentle(tm.CongestionControl):
    ...     def on_ack(self, acked_bytes, subflow, coupling, window):
    ...         left = window.slow_start(acked_bytes)
    ...         window.cwnd_bytes += left * subflow.mss_bytes // window.cwnd_bytes
    ...     def on_loss(self, subflow, window):
    ...         window.ssthresh_bytes = max(2 * subflow.mss_bytes, window.cwnd_bytes * 7 // 8)
    ...     def on_timeout(self, subflow, window):
    ...         window.halve(subflow)
    ...         window.cwnd_bytes = subflow.mss_bytes
    >>> scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "5s")
    >>> scenario.run(congestion=Gentle).connections[0].delivered_bytes > 1_000_000
    True
    """

    name: str = ""
    """Name in reports; empty for the name of the class."""
    coupled: bool = False
    """True if the algorithm reads ``coupling``, which is empty otherwise. Read once."""
    uses_energy_costs: bool = False
    """True if the algorithm reads ``CoupledSubflow.energy_cost_j_per_byte``. Read once."""
    uses_rate_samples: bool = False
    """True for an algorithm with a model of the path: the sender then calls ``on_rate_sample``, paces
    segments and leaves recovery's window to the algorithm. Read once."""

    @abstractmethod
    def on_ack(
        self, acked_bytes: int, subflow: SubflowView, coupling: Coupling, window: Window
    ) -> None:
        """Grows the window for new acknowledged bytes.

        Called outside recovery, while the window limits sending.
        """

    @abstractmethod
    def on_loss(self, subflow: SubflowView, window: Window) -> None:
        """Reacts to the first loss of a window: sets the threshold, to which recovery then brings
        the window."""

    @abstractmethod
    def on_timeout(self, subflow: SubflowView, window: Window) -> None:
        """Reacts to the expiry of the retransmission timer: sets threshold and window."""

    def on_limited_ack(self, subflow: SubflowView) -> None:
        """Notes an acknowledgement while something other than the window limited sending."""

    def on_ecn(self, subflow: SubflowView, window: Window) -> None:
        """Reacts to an ECN echo, by default as to a loss."""
        self.on_loss(subflow, window)

    def on_spurious_reduction(self, regrown: bool) -> None:
        """Notes that the last reduction was spurious. The sender restores the window itself;
        ``regrown`` is True if the window has already grown back."""

    def on_rate_sample(self, sample: RateSample, subflow: SubflowView, window: Window) -> None:
        """Takes the delivery rate sample of each acknowledgement, in recovery too."""

    def pacing_rate_bytes_per_s(self) -> float | None:
        """Returns the pacing rate, from 1 to 1e15; None leaves pacing to the scenario.

        Segments are paced with ``uses_rate_samples`` or ``transport.pacing``.
        """
        return None

    def shared_value(self, una_bytes: int) -> int:
        """Returns a value for the controls of the other subflows, from 0 to 2**64 - 1.

        They read it as ``CoupledSubflow.shared_value``.
        """
        return 0
