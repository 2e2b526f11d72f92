"""What callbacks of a collective's future return and raise."""

import pytest

from rushlight.distributed import DistBackendError
from rushlight.distributed.work import Work


def failed():
    raise DistBackendError("process 1 has gone")


def test_an_error_in_a_callback():
    future = Work(lambda: None, [3]).get_future()
    assert future.then(lambda f: f.value()[0] * 2).wait() == 6
    failing = future.then(lambda f: f.value()[0] / 0)
    for call in (failing.wait, failing.value):
        # torch 2.13's text
        with pytest.raises(
            RuntimeError, match=r"^Got the following error when running the callback: ZeroDivisionError: div"
        ) as e:
            call()
        assert type(e.value.__cause__) is ZeroDivisionError


def test_an_error_of_the_collective_goes_through_callbacks():
    future = Work(failed).get_future()
    for one in (future, future.then(lambda f: f.value()), future.then(lambda f: f.value()).then(lambda f: f.wait())):
        with pytest.raises(DistBackendError, match=r"^process 1 has gone$"):
            one.wait()
