"""Events of Python that runs: which frames, instructions and C functions a capture is told of, in either way."""

import dis
import os
import queue
import sys
import threading
from types import SimpleNamespace

import pytest

import rushlight
from rushlight.compile.guards import python_events
from rushlight.compile.guards.python_events import Monitored, Traced, watch

WAYS = [Traced, pytest.param(Monitored, marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 on"))]


class Hearer:
    """Notes what it is told of `branch` and `counting`."""

    def __init__(self):
        self.offsets = {}
        self.called = []

    def leaves_out(self, code):
        return code not in (branch.__code__, counting.__code__, taking.__code__)

    def begins(self, frame):
        return self.offsets.setdefault(frame.f_code, set())

    def calls(self, frame, function):
        self.called.append((frame.f_code.co_name, function.__name__))

    def names(self):
        return {code.co_name for code in self.offsets}


def start(way, hearer):
    return Traced(hearer) if way is Traced else Monitored.begin(hearer)


def branch(x):
    if x > 1:
        return len("abc")
    return abs(x)


def ours():
    return [len("abc"), branch(5)]


def counting():
    yield len("a")
    yield max(1, 2)


def taking(get, *args):
    return get(), get(*args)


def ran(code, offsets, line, way=Monitored):
    """Whether an instruction of a line, counted from the code's first one, is among the offsets, or which ran is unknown."""
    if (
        way is Traced and not offsets
    ):  # of a code object's first frame, `sys.settrace` does not tell from Python 3.12 on
        return sys.version_info >= (3, 12)
    lines = {i.offset: i.positions.lineno for i in dis.get_instructions(code)}
    return any(lines.get(o) == code.co_firstlineno + line for o in offsets)


@pytest.mark.parametrize("way", WAYS)
def test_instructions_that_ran_and_c_functions_that_were_called(way):
    hearer = Hearer()
    events = start(way, hearer)
    try:
        branch(-2)
        [].append(1)
        "a".upper()
    finally:
        events.stop()
    branch(7)
    assert hearer.names() == {"branch"}
    offsets = hearer.offsets[branch.__code__]
    assert ran(branch.__code__, offsets, 3, way)
    assert not offsets or not ran(branch.__code__, offsets, 2)
    assert ("branch", "abs") in hearer.called and ("branch", "len") not in hearer.called


@pytest.mark.parametrize("way", WAYS)
def test_code_that_is_left_out_calls_what_is_not(way):
    hearer = Hearer()
    events = start(way, hearer)
    try:
        ours()
    finally:
        events.stop()
    assert hearer.called == [("branch", "len")]


@pytest.mark.parametrize("way", WAYS)
def test_a_generator_that_goes_on(way):
    hearer, values = Hearer(), counting()
    assert next(values) == 1
    events = start(way, hearer)
    try:
        assert next(values) == 2
    finally:
        events.stop()
    assert hearer.called == [("counting", "max")]
    assert ran(counting.__code__, hearer.offsets[counting.__code__], 2, way)


@pytest.mark.parametrize("way", WAYS)
def test_a_bound_method_that_is_given_its_class(way):
    q = queue.SimpleQueue()
    for value in range(2):
        q.put(value)
    assert type(q.get) is not type(q.put)  # "builtin_method"
    hearer = Hearer()
    events = start(way, hearer)
    try:
        assert taking(q.get) == (0, 1)
    finally:
        events.stop()
    assert hearer.called == [("taking", "get")] * 2


@pytest.mark.parametrize("way", WAYS)
def test_each_time_all_is_told(way):
    for _ in range(3):  # what was heard once is heard again the next time
        hearer = Hearer()
        events = start(way, hearer)
        try:
            branch(2)
        finally:
            events.stop()
        assert hearer.called == [("branch", "len")]
        assert ran(branch.__code__, hearer.offsets[branch.__code__], 2, way)


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_the_hearer_ends_the_call(way):
    def refuse(frame, function):
        raise ValueError(function.__name__)

    events = start(way, SimpleNamespace(leaves_out=Hearer().leaves_out, begins=lambda frame: set(), calls=refuse))
    try:
        with pytest.raises(ValueError, match="abs"):
            branch(-1)
    finally:
        events.stop()
    assert branch(-1) == 1


def test_nothing_is_told_in_a_pause():
    hearer = Hearer()
    before = sys.gettrace(), sys.getprofile()
    events = Traced(hearer)
    try:
        branch(2)
        assert events.pause()
        branch(-1)
        assert not events.pause()  # there is none to end
        events.resume()
        branch(3)
    finally:
        events.stop()
    assert hearer.called == [("branch", "len")] * 2
    assert (sys.gettrace(), sys.getprofile()) == before


@pytest.mark.parametrize("way", WAYS)
def test_threads_hear_of_what_they_run(way):
    """One after the other begins, so that each runs while the others hear."""
    hearers, errors = [Hearer() for _ in range(3)], []
    barrier = threading.Barrier(3, timeout=20)

    def work(i):
        try:
            events = start(way, hearers[i])
            try:
                barrier.wait()
                for _ in range(20):
                    branch(i - 1)
                barrier.wait()
            finally:
                events.stop()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    for hearer in hearers:
        assert [c for c in hearer.called if c[0] == "branch"] == [("branch", "abs")] * 20
        assert ran(branch.__code__, hearer.offsets[branch.__code__], 3, way)
    assert not python_events._running


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring")
def test_an_instruction_is_told_again_where_a_second_thread_begins():
    events = Monitored.begin(Hearer())
    try:
        if getattr(sys, "_is_gil_enabled", lambda: True)():
            assert python_events._after_one is sys.monitoring.DISABLE
        thread = threading.Thread(target=lambda: begun.append((Monitored.begin(Hearer()), python_events._after_one)))
        begun = []
        thread.start()
        thread.join()
        assert begun[0][1] is None  # neither thread turns off what the other waits for
    finally:
        events.stop()
        python_events._forget(thread.ident)
    assert python_events._after_one is None and not python_events._running


@pytest.mark.skipif(sys.version_info < (3, 12) or not hasattr(os, "fork"), reason="sys.monitoring and forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_hears_of_its_own_thread_alone():
    begun, over = threading.Event(), threading.Event()

    def work():
        events = Monitored.begin(Hearer())
        begun.set()
        over.wait(20)
        events.stop()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait(20)
    child = os.fork()
    if child == 0:
        os._exit(0 if not python_events._running and python_events._tool is None else 1)
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not python_events._running


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring")
def test_where_other_tools_hold_all_numbers():
    taken = []
    for number in range(6):
        if sys.monitoring.get_tool(number) is None:
            sys.monitoring.use_tool_id(number, "test")
            taken.append(number)
    try:
        hearer = Hearer()
        events = watch(hearer)
        try:
            assert isinstance(events, Traced)
            branch(2)
        finally:
            events.stop()
        assert hearer.called == [("branch", "len")]
    finally:
        for number in taken:
            sys.monitoring.free_tool_id(number)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring")
def test_a_number_is_given_back():
    events = watch(Hearer())
    number = python_events._tool
    assert sys.monitoring.get_tool(number) == "rushlight"
    inner = watch(Hearer())  # of one thread, a second one
    assert isinstance(inner, Traced)
    inner.stop()
    events.stop()
    assert sys.monitoring.get_tool(number) is None


def test_a_bound_method_of_a_queue_is_called_at_each_call():
    q = queue.SimpleQueue()
    get = q.get
    for value in [1.0] * 3 + [2.0, 3.0, 4.0]:  # equal while the function is captured
        q.put(value)

    @rushlight.compile
    def add(x, get):
        return x + get()

    with pytest.warns(UserWarning, match=r"SimpleQueue.get\(\) may return something else"):
        found = [add(rushlight.zeros(1), get).item() for _ in range(6)]
    assert found == [1, 1, 1, 2, 3, 4]
    assert q.empty()
