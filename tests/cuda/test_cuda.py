"""torch.cuda without a device: what torch's CPU build answers."""

import pytest

import rushlight as torch

ANSWERS = {
    "is_available()": False,
    "device_count()": 0,
    "is_initialized()": False,
    "_initialized": False,
    "_is_in_bad_fork()": False,
    "is_bf16_supported()": False,
    "get_arch_list()": [],
    "manual_seed(1)": None,
    "manual_seed_all(1)": None,
    "seed()": None,
    "seed_all()": None,
    "empty_cache()": None,
    "get_rng_state_all()": [],
    "set_rng_state_all([])": None,
    "memory_allocated()": 0,
    "max_memory_allocated(0)": 0,
    "memory_reserved()": 0,
    "max_memory_reserved()": 0,
    "memory_stats()": {},
    "default_generators": (),
}


@pytest.mark.parametrize("call", ANSWERS)
def test_answers(call):
    assert eval(f"torch.cuda.{call}") == ANSWERS[call]


NEED_A_DEVICE = [
    "init()",
    "current_device()",
    "set_device(0)",
    "get_device_name(0)",
    "get_device_properties(0)",
    "get_device_capability(0)",
    "synchronize(0)",
    "current_stream(0)",
    "default_stream(0)",
    "ipc_collect()",
    "get_rng_state(0)",
    "initial_seed()",
    "mem_get_info(0)",
    "memory_summary(0)",
    "can_device_access_peer(0, 1)",
    "set_per_process_memory_fraction(0)",
]


@pytest.mark.parametrize("call", NEED_A_DEVICE)
def test_what_needs_a_device(call):
    name = call.partition("(")[0]
    with pytest.raises(AssertionError, match=rf"Torch not compiled with CUDA enabled.*torch\.cuda\.{name}\(\)"):
        eval(f"torch.cuda.{call}")


def test_seeding_cuda_leaves_the_cpu_alone():
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    torch.cuda.manual_seed(4)
    torch.cuda.manual_seed_all(5)
    assert torch.rand(2).tolist() == expected
    with pytest.raises(ValueError, match="text"):
        torch.cuda.manual_seed("text")


def test_contexts():
    with torch.cuda.device(-1), torch.cuda.device(None), torch.cuda.device_of(torch.ones(1)), torch.cuda.stream(None):
        pass
    with pytest.raises(RuntimeError, match="compiled without CUDA support"), torch.cuda.device(0):
        pass
    for cls in (torch.cuda.Stream, torch.cuda.Event):
        with pytest.raises(RuntimeError, match="requires CUDA support"):
            cls(enable_timing=True)


def test_old_names_warn():
    with pytest.warns(FutureWarning, match="renamed to `torch.cuda.memory_reserved`"):
        assert torch.cuda.memory_cached() == 0


def test_the_usual_device_line():
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    assert device == torch.device("cpu") and device != torch.device("cpu:0")
    x = torch.ones(2).to(device)
    assert (x.is_cuda, x.device.type, x.get_device()) == (False, "cpu", -1)
    assert x.to(device) is x
    with torch.device("cpu"):
        assert torch.ones(2).device == device
    with pytest.raises(AssertionError, match="CUDA"), torch.device("cuda"):
        pass
    assert issubclass(torch.cuda.OutOfMemoryError, RuntimeError)
