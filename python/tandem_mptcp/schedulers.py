"""Schedulers in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ._native import Candidate, SchedulerContext

__all__ = ["Scheduler"]


class Scheduler(ABC):
    """Chooses the subflow for each piece of new data of one end of a connection.

    Subclasses define ``pick``. Only the other methods that a subclass defines are called.

    >>> import tandem_mptcp as tm
    >>> class LowestDelay(tm.Scheduler):
    ...     def pick(self, candidates, context):
    ...         ready = [c for c in candidates if c.room_bytes >= context.len_bytes]
    ...         return min(ready, key=lambda c: c.srtt_s, default=None)
    >>> scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "2s")
    >>> scenario.run(scheduler=LowestDelay).to_dict() == scenario.run(scheduler="min-rtt").to_dict()
    True
    """

    name: str = ""
    """Name in reports; empty for the name of the class."""
    redundant: bool = False
    """True if every subflow is to carry all data. Read once for each end."""

    @abstractmethod
    def pick(self, candidates: Sequence[Candidate], context: SchedulerContext) -> Candidate | None:
        """Returns one of the candidates, or None to wait for the next acknowledgement.

        The candidates are the subflows that may carry data, in the order of their paths: never a
        backup beside a regular one. If ``room_bytes`` of the returned one is below
        ``context.len_bytes``, the data waits in its queue.
        """

    def on_scheduled(self, path: int, len_bytes: int) -> None:
        """Notes that data was assigned to the subflow over a path."""

    def on_window_blocked(self) -> None:
        """Notes that the connection's send window has no room for the next piece."""

    def assigned_path(self, candidates: Sequence[Candidate], len_bytes: int) -> Candidate | None:
        """Returns the candidate to which the next bytes belong regardless of its room.

        For schedulers with fixed shares, in scenarios with ``transport.subflow_buffer``.
        """
        return None

    def set_shares(self, shares: Sequence[float]) -> bool:
        """Takes the shares by path that a policy sets. Returns False if the scheduler ignores them:
        a share below an equal part is then an upper bound on its path."""
        return False
