"""Write rushlight/ops/random/sobol_numbers.bin: the primitive polynomials and initial numbers of Sobol' sequences.

Run with an interpreter that has torch 2.13: `python tests/golden/make_sobol_numbers.py` (half a minute). The numbers are
those of Joe and Kuo's file new-joe-kuo-6.21201 (their licence is next to the written file), read out of torch's state for
all dimensions: the first s columns of a dimension are its initial numbers, where s is the degree of its polynomial. The
polynomials are all primitive ones up to degree 18, in ascending order; all 30 columns are compared with the recurrence.
"""

from pathlib import Path

import numpy as np
import torch

OUT = Path(__file__).parents[2] / "rushlight" / "ops" / "random" / "sobol_numbers.bin"
BITS, DIMENSIONS, DEGREE = 30, 21201, 18


def power_of_x(exponent: int, polynomial: int, degree: int) -> int:
    """x**exponent modulo a polynomial over GF(2), whose coefficients are bits."""
    result, base = 1, 2
    while exponent:
        if exponent & 1:
            result = product(result, base, polynomial, degree)
        base, exponent = product(base, base, polynomial, degree), exponent >> 1
    return result


def product(a: int, b: int, polynomial: int, degree: int) -> int:
    """a b modulo the polynomial."""
    total = 0
    while b:
        if b & 1:
            total ^= a
        a, b = a << 1, b >> 1
        if a >> degree:
            a ^= polynomial
    return total


def prime_factors(n: int) -> set[int]:
    return {q for q in range(2, n + 1) if n % q == 0 and all(q % p for p in range(2, int(q**0.5) + 1))}


def primitive(degree: int) -> list[int]:
    """The polynomials of this degree whose root generates all of GF(2**degree) but 0."""
    order = 2**degree - 1
    parts = [order // q for q in prime_factors(order)]
    return [
        p
        for p in range((1 << degree) + 1, 2 << degree, 2)
        if p.bit_count() % 2  # else x + 1 divides it
        and power_of_x(order, p, degree) == 1
        and all(power_of_x(part, p, degree) != 1 for part in parts)
    ]


def polynomials() -> list[list[int]]:
    """By degree, from 0; of degree 1 there is x + 1."""
    return [[1], [3], *(primitive(s) for s in range(2, DEGREE + 1))]


def follows(columns: np.ndarray, polynomials: np.ndarray, degree: int) -> bool:
    """Whether the numbers after the first `degree` ones obey the recurrence of their polynomial."""
    for j in range(degree, BITS):
        new = columns[:, j - degree].copy()
        for k in range(degree):
            taken = polynomials >> (degree - 1 - k) & 1
            new ^= taken * columns[:, j - k - 1] << (k + 1)
        if (new != columns[:, j]).any():
            return False
    return True


if __name__ == "__main__":
    state = torch.zeros(DIMENSIONS, BITS, dtype=torch.long)
    torch._sobol_engine_initialize_state_(state, DIMENSIONS)
    numbers = state.numpy() >> np.arange(BITS - 1, -1, -1)
    found = polynomials()
    assert sum(map(len, found)) == DIMENSIONS
    is_polynomial = np.zeros(1 << DEGREE, np.uint8)  # of 2 i + 1
    is_polynomial[[p >> 1 for group in found for p in group]] = 1
    parts, first = [np.packbits(is_polynomial).tobytes()], 0
    for degree, group in enumerate(found):
        columns = numbers[first : first + len(group)]
        first += len(group)
        assert degree == 0 or follows(columns, np.array(group), degree)
        for k in range(1, degree):  # the number of column k is odd and below 2**(k + 1)
            bits = columns[:, k : k + 1] >> np.arange(k, 0, -1) & 1
            parts.append(np.packbits(bits.astype(np.uint8)).tobytes())
    OUT.write_bytes(b"".join(parts))
