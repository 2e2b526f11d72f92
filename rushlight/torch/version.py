"""`torch.version`: the torch release whose behaviour Rushlight has."""

import re


class TorchVersion(str):
    """A version string that compares by its numbers with strings and tuples, as torch's does: '2.13' > '2.9'."""

    def release(self):
        """The numbers before any suffix, as a tuple."""
        return _release(self)

    def __lt__(self, other):
        return self.release() < _release(other)

    def __le__(self, other):
        return self.release() <= _release(other)

    def __gt__(self, other):
        return self.release() > _release(other)

    def __ge__(self, other):
        return self.release() >= _release(other)

    def __eq__(self, other):
        if isinstance(other, str):
            return str.__eq__(self, other) or ("+" not in other and self.release() == _release(other))
        return isinstance(other, tuple) and self.release() == _release(other)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


def _release(version):
    """(2, 13, 0) for '2.13.0+cpu' or ('2', 13): without trailing zeros, so that 2.13 and 2.13.0 are the same."""
    text = version if isinstance(version, str) else ".".join(map(str, version))
    numbers = [int(number) for number in re.findall(r"\A[0-9.]*", text)[0].split(".") if number]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


__version__ = TorchVersion("2.13.0+rushlight")
cuda = None
hip = None
rocm = None
xpu = None
debug = False
git_version = "rushlight"
