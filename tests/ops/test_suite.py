"""The operator suite: every check of rushlight.testing.suite on every sample of every operator."""

import pytest

from rushlight.testing import suite
from rushlight.testing.samples import SAMPLES, function_of, samples_of

CHECKS = [
    suite.check_gradient,
    suite.check_second_gradient,
    suite.check_inputs_untouched,
    suite.check_strides,
    suite.check_memory,
    suite.check_inplace,
    suite.check_out,
    suite.check_batched,
    suite.check_batched_gradient,
]
NAMES = [name for name in SAMPLES if function_of(name) is not None]


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__.removeprefix("check_"))
def test_operator(check, name):
    for sample in samples_of(name):
        try:
            check(name, sample)
        except Exception as error:
            error.add_note(f"the call: {name}({sample!r})")
            raise


def test_every_operator_has_samples():
    assert suite.operators_without_samples() == []


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
def test_every_gradient_rule_is_reached():
    assert suite.records_without_samples() == []
