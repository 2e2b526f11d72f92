"""Fetching: an index, or a list of them, becomes a batch. In the loader's process and in workers alike."""

# A list of indices in an error message is shortened beyond this length.
_INDICES_SHOWN = 32


def silent_end(subject: str) -> RuntimeError:
    """What becomes of a StopIteration that is not the end of an iterable dataset: a loop would take it for one."""
    return RuntimeError(
        f"StopIteration was raised while {subject}. It would have ended the epoch silently, with the rest of the data "
        "unread; only the iterator of an IterableDataset may raise it."
    )


class MapFetcher:
    """Batches of a map dataset. After a failure `subject()` says which sample it was."""

    def __init__(self, dataset, auto_collation: bool, collate_fn, drop_last: bool) -> None:
        self._dataset = dataset
        self._auto_collation = auto_collation
        self._collate_fn = collate_fn
        self._action, self._index = "nothing", None

    def fetch(self, index):
        """The batch for a list of indices; without automatic batching, the converted sample for one index."""
        self._action, self._index = "sample", index
        try:
            samples = self._load_batch(index) if self._auto_collation else self._dataset[index]
            self._action, self._index = "collate", index
            return self._collate_fn(samples)
        except StopIteration as error:
            raise silent_end(self.subject()) from error

    def _load_batch(self, indices) -> list:
        if getattr(self._dataset, "__getitems__", None):
            self._action = "samples"
            return self._dataset.__getitems__(indices)
        samples, dataset = [], self._dataset
        for self._index in indices:
            samples.append(dataset[self._index])
        return samples

    def subject(self) -> str:
        index = shorten(self._index)
        if self._action == "collate":
            return f"collating the samples at indices {index}" if self._auto_collation else f"converting sample {index}"
        if self._action == "samples":
            return f"loading the samples at indices {index}"
        return f"loading the sample at index {index}"


class IterableFetcher:
    """Batches of an iterable dataset; StopIteration at its end."""

    def __init__(self, dataset, auto_collation: bool, collate_fn, drop_last: bool) -> None:
        try:
            self._samples = iter(dataset)
        except StopIteration as error:
            raise silent_end("making the iterator of the dataset") from error
        self._auto_collation = auto_collation
        self._collate_fn = collate_fn
        self._drop_last = drop_last
        self._taken, self._ended, self._collating = 0, False, False

    def fetch(self, index):
        """The next batch, of as many samples as `index` has entries; without automatic batching, the next sample."""
        self._collating = False
        samples = self._take(len(index)) if self._auto_collation else self._take_one()
        self._collating = True
        try:
            return self._collate_fn(samples)
        except StopIteration as error:
            raise silent_end(self.subject()) from error

    def _take(self, count: int) -> list:
        samples = []
        while len(samples) < count and not self._ended:
            try:
                samples.append(self._take_one())
            except StopIteration:
                self._ended = True
        if not samples or (self._drop_last and len(samples) < count):
            raise StopIteration
        return samples

    def _take_one(self):
        sample = next(self._samples)
        self._taken += 1
        return sample

    def subject(self) -> str:
        if self._collating:
            return f"collating the samples up to number {self._taken - 1} of the iterable dataset"
        return f"loading sample number {self._taken} of the iterable dataset"


def shorten(index) -> str:
    if isinstance(index, list) and len(index) > _INDICES_SHOWN:
        shown = ", ".join(map(repr, index[:_INDICES_SHOWN]))
        return f"[{shown}, ...] ({len(index)} in all)"
    return repr(index)
