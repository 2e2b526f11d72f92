"""torch._dynamo.config, torch._inductor.config, torch._functorch.config: settings that programs set before they compile."""

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
