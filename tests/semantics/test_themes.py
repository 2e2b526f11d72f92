"""torch's behaviour method by method, a session for each theme: what torch printed is what Rushlight prints.

`semantics_listed.json` has the names that torch lists, by owner: a section of a session is about each.
"""

import json
from pathlib import Path

import pytest

import rushlight
from tests.semantics.session import THEMES, is_apart, read, repeat, same

LISTED = json.loads((Path(__file__).parents[1] / "golden" / "semantics_listed.json").read_text())
SECTIONS = [(theme, n) for theme in THEMES for n in range(len(read(theme)))]
_NO_OTHER_DEVICES = (
    "cuda ipu is_cuda is_ipu is_maia is_mkldnn is_mps is_mtia is_vulkan is_xla is_xpu mtia xpu record_stream"
)
_QUANTIZED = "dequantize int_repr is_quantized q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme"
_PIPES = (
    "DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe non_deterministic "
    "guaranteed_datapipes_determinism runtime_validation runtime_validation_disabled"
)
_ENGINE = (
    "boxed_grads_call clear_saved_tensors_on_access dirty_tensors mark_shared_storage materialize_grads "
    "maybe_clear_saved_tensors non_differentiable saved_for_forward saved_variables to_save region_activation_memory_budget "
    "set_override_stale_capture_stream set_warn_on_accumulate_grad_stream_mismatch"
)
ELSEWHERE = {  # names without a section, by the reason
    "devices: tests/devices": _NO_OTHER_DEVICES,
    "quantized tensors: tests/quantized": _QUANTIZED,
    "what torch's engine keeps for itself, and CUDA's streams": _ENGINE,
    "submodules, and names that torch has only to say that they are gone": "index lr_scheduler reinforce",
    "data pipes, which torch deprecates, are absent": _PIPES,
}


@pytest.mark.parametrize(("theme", "n"), SECTIONS, ids=[f"{t}-{read(t)[n].names[0]}" for t, n in SECTIONS])
def test_session(theme, n):
    section = read(theme)[n]
    pairs = zip(section.statements, repeat(rushlight, section), strict=True)
    wrong = [(s, want, got) for (s, want), (_, got) in pairs if same(want, got) == is_apart(s)]
    assert not wrong, "\n\n".join(f">>> {s}\n{want}\n--- Rushlight:\n{got}" for s, want, got in wrong)


@pytest.mark.parametrize("owner", LISTED)
def test_each_listed_name_has_a_section(owner):
    named = {name for theme in THEMES for section in read(theme) for name in section.names}
    elsewhere = {name for names in ELSEWHERE.values() for name in names.split()}
    assert sorted(set(LISTED[owner]) - named - elsewhere) == []
