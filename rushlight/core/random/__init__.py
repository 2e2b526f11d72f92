"""Random streams on plain arrays, number for number those of torch's CPU generator.

`mersenne` holds the generator. The draws take a generator (None for the default one) and return fresh C-ordered
arrays; `store` writes them into an array of any layout in the order in which torch fills it.
"""

from .continuous import cauchy, exponential, log_normal, normal, normal_of, uniform
from .discrete import bernoulli, bernoulli_of, geometric, multinomial
from .dropout import alpha_dropout_masks, dropout_mask, feature_dropout_mask
from .integers import randint, random_, randperm
from .layout import store
from .mersenne import Generator, continue_from, default_generator, initial_seed, manual_seed, seed, states
from .rejection import binomial, dirichlet, poisson, standard_gamma

__all__ = [
    "Generator",
    "alpha_dropout_masks",
    "bernoulli",
    "bernoulli_of",
    "binomial",
    "cauchy",
    "continue_from",
    "default_generator",
    "dirichlet",
    "dropout_mask",
    "exponential",
    "feature_dropout_mask",
    "geometric",
    "initial_seed",
    "log_normal",
    "manual_seed",
    "multinomial",
    "normal",
    "normal_of",
    "poisson",
    "randint",
    "random_",
    "randperm",
    "seed",
    "standard_gamma",
    "states",
    "store",
    "uniform",
]
