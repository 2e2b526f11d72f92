"""Distributions, divergences, transforms, constraints and error texts against torch's (golden/make_distributions.py)."""

from __future__ import annotations

import pathlib
import warnings

import distribution_cases as cases
import distribution_probe as probe
import numpy as np
import pytest

import rushlight as torch

GOLDEN = probe.unpack(np.load(pathlib.Path(__file__).parents[1] / "golden" / "distributions.npz"))
NAMES = probe.Names(torch)

# Draws whose numbers are torch's to the last bit: no function is between the generator and them.
EXACT = {
    "Bernoulli", "Beta", "Binomial", "Categorical", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "Geometric",
    "Independent", "MixtureSameFamily", "Multinomial", "NegativeBinomial", "Normal", "OneHotCategorical", "Poisson",
    "StudentT", "Uniform",
}  # fmt: skip


def words(text: str) -> str:
    return " ".join(text.replace("rushlight.", "torch.").split())


def compare(case: str, answers: dict, exact: bool = False) -> None:
    for key, expected in GOLDEN[case].items():
        value = answers[key]
        if isinstance(expected, str):
            assert isinstance(value, str), f"{key}: {value} in place of {expected}"
            assert words(value) == words(expected), key
            continue
        assert not isinstance(value, str), f"{key}: {value}"
        assert value.shape == expected.shape, key
        if exact and "sample" in key and "gradient" not in key:
            np.testing.assert_array_equal(np.asarray(value, np.float32), expected, key)
        np.testing.assert_allclose(np.asarray(value, np.float32), expected, 2e-5, 1e-5, err_msg=key)


@pytest.mark.filterwarnings("ignore:Singular sample detected")
@pytest.mark.parametrize("name, text", cases.CASES, ids=[name for name, _ in cases.CASES])
def test_distribution(name, text):
    compare(f"distribution {name}", probe.of_distribution(NAMES, text), name.split("-")[0] in EXACT)


@pytest.mark.parametrize("p", cases.OPERANDS)
def test_divergences_from(p):
    for name, left, right in cases.PAIRS:
        if name.startswith(p + "-"):
            compare(f"divergence {name}", probe.of_divergence(NAMES, left, right))


@pytest.mark.parametrize("text", cases.TRANSFORMS)
def test_transform(text):
    compare(f"transform {text}", probe.of_transform(NAMES, text, cases.TRANSFORMS[text]))


@pytest.mark.parametrize("text", cases.CONSTRAINTS)
def test_constraint(text):
    compare(f"constraint {text}", probe.of_constraint(NAMES, text, cases.CONSTRAINTS[text]))


@pytest.mark.parametrize("text", cases.ERRORS)
def test_what_is_raised(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = probe.of_error(NAMES, text)
    assert words(said) == words(GOLDEN["errors"][text])
