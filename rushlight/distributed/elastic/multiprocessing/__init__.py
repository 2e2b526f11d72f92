"""`torch.distributed.elastic.multiprocessing`: where the output of launched processes goes, and their errors."""

from __future__ import annotations

from enum import IntFlag

from . import errors

__all__ = ["DefaultLogsSpecs", "LogsSpecs", "Std", "errors"]


class Std(IntFlag):
    """Streams: NONE, OUT, ERR, ALL."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Of "3", or of "0:1,1:3" by local rank. Raises ValueError for another text."""
        try:
            if ":" not in vm:
                return cls(int(vm))
            pairs = [part.split(":") for part in vm.split(",")]
            return {int(rank): cls(int(value)) for rank, value in pairs}
        except ValueError:
            raise ValueError(f"{vm} does not match: <^\\d:[0123],)*(\\d:[0123])$|^[0123]$>") from None


class LogsSpecs:
    """Which streams of which local ranks go to files (`redirects`), to files and the console (`tee`), and to the console.

    log_dir: a folder for the files. local_ranks_filter: those whose output is shown.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ):
        self.root_log_dir, self.redirects, self.tee = log_dir, redirects, tee
        self.local_ranks_filter = local_ranks_filter

    @staticmethod
    def as_option(streams: Std | dict[int, Std]) -> str:
        """As the launcher's command line says it."""
        if isinstance(streams, dict):
            return ",".join(f"{rank}:{int(value)}" for rank, value in streams.items()) or "0"
        return str(int(streams))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(root_log_dir={self.root_log_dir}, redirects={self.redirects}, tee={self.tee}, "
            f"local_ranks_filter={self.local_ranks_filter})"
        )


class DefaultLogsSpecs(LogsSpecs):
    """`LogsSpecs`; the folder is made when something is written there."""
