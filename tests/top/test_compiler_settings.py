"""torch._dynamo.config, torch._inductor.config, torch._functorch.config: settings that programs set before they compile."""

import os

import pytest

import rushlight as torch
from rushlight.compile.jit.step import settings


def test_settings_that_count():
    config = torch._dynamo.config
    with config.patch(cache_size_limit=64, suppress_errors=True):
        assert (settings.limit, settings.suppress_errors, config.recompile_limit) == (64, True, 64)
        config.recompile_limit = 9
        assert settings.limit == config.cache_size_limit == 9
    assert (settings.limit, settings.suppress_errors) == (8, False)

    @config.patch("suppress_errors", True)
    def inside():
        return settings.suppress_errors

    assert inside() and not settings.suppress_errors
    with pytest.raises(ZeroDivisionError), config.patch({"verbose": True, "capture_scalar_outputs": True}):
        assert config.verbose and config.to_dict()["capture_scalar_outputs"]
        1 / 0  # noqa: B018
    assert not config.verbose and not config.get_config_copy()["capture_scalar_outputs"]


@pytest.mark.parametrize("name", ["nonesuch", "log_level"])
def test_unknown_settings(name):
    with pytest.raises(AttributeError, match=rf"torch\._dynamo\.config\.{name} does not exist"):
        setattr(torch._dynamo.config, name, 1)
    with pytest.raises(AttributeError, match=rf"torch\._dynamo\.config\.{name} does not exist"):
        getattr(torch._dynamo.config, name)
    with pytest.raises(AttributeError), torch._dynamo.config.patch(**{name: 1}):
        pass


def test_a_setting_that_would_have_to_do_something():
    with pytest.raises(NotImplementedError, match=r"torch\._dynamo\.config\.error_on_recompile is not implemented"):
        torch._dynamo.config.error_on_recompile = True


def test_settings_of_what_is_not_here():
    inductor = torch._inductor.config
    with inductor.patch({"triton.cudagraphs": True, "max_autotune": True, "unroll_reductions_threshold": 1}):
        assert inductor.triton.cudagraphs and inductor.max_autotune and inductor.unroll_reductions_threshold == 1
        assert inductor.to_dict()["triton.cudagraphs"]
    assert not inductor.max_autotune and not hasattr(inductor.triton, "cudagraphs")
    assert not hasattr(inductor, "unroll_reductions_threshold")
    with torch._functorch.config.patch(activation_memory_budget=0.5):
        assert torch._functorch.config.activation_memory_budget == 0.5
    assert torch._functorch.config.activation_memory_budget == 1.0


def test_a_fresh_cache_compiles_again(tmp_path):
    utils, name = torch._inductor.utils, "TORCHINDUCTOR_CACHE_DIR"
    f = torch.compile(lambda x: x + 1)
    for _ in range(3):
        f(torch.ones(2))
    before, entries = os.environ.get(name), {}
    with utils.fresh_inductor_cache(entries, dir=str(tmp_path), delete=False):
        assert not f.has_program((torch.ones(2),), {}) and f(torch.ones(2)).tolist() == [2, 2]
        folder = os.environ[name]
        assert os.path.dirname(folder) == str(tmp_path) and os.listdir(folder) == []
    assert os.environ.get(name) == before and os.path.isdir(folder) and entries == {}
    with utils.fresh_cache(dir=str(tmp_path)):
        folder = os.environ[name]
    assert not os.path.exists(folder)
    with pytest.raises(AssertionError, match="expected empty cache_entries"), utils.fresh_cache({"a": 1}):
        pass


def test_functions_outside_of_programs_by_an_inner_name():
    """`torch._disable_dynamo` decorates with and without arguments; a step that calls such a function runs eagerly."""

    @torch._disable_dynamo
    def plain(x):
        return x + 1

    @torch._disable_dynamo(recursive=False)
    def called(x):
        return plain(x) * 2

    step = torch.compile(lambda x: called(x) * 3)
    with pytest.warns(UserWarning, match="excluded from compiling"):
        assert [step(torch.ones(1)).item() for _ in range(5)] == [12.0] * 5
    assert plain.__name__ == "plain"
