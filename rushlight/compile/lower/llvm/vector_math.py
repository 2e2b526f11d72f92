"""Elementary functions as straight-line code over vectors.

float32: exp, log, tanh, sigmoid and erf in their own precision (minimax polynomials, at most 1.5 units in the last
place), the others through float64. float64: exp, expm1, log, log1p, tanh, sigmoid, sin, cos and tan at most 2 units, fmod
exact; the rest is libm's, lane by lane. All of the range, infinities, nan and subnormal numbers are right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from . import engine
from .emitters import emits, emitter, libm
from .ir import Builder, Val, number

# SLEEF's of expf with at most one unit, which torch's vectors call (sleef.org): sigmoid, silu and softmax have its bits so.
_EXP32 = (
    0.000198527617612853646278381,
    0.00139304355252534151077271,
    0.00833336077630519866943359,
    0.0416664853692054748535156,
    0.166666671633720397949219,
    0.5,
)
_EXP64 = (
    2.091475532589320219e-9,
    2.510531272962210178e-8,
    2.755727347871858047e-7,
    2.755725517000088744e-6,
    0.0000248015873256774619,
    0.0001984126987500227879,
    0.001388888888888371117,
    0.00833333333332608312,
    0.04166666666666666978,
    0.1666666666666667103,
    0.5,
)
_LOG32 = (
    0.0697161147,
    -0.114797338,
    0.116854199,
    -0.124256873,
    0.142490576,
    -0.166678023,
    0.200007157,
    -0.24999997,
    0.333333312,
)
_LOG64 = (  # of (log(1 + s) - log(1 - s)) / s - 2 in s squared
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
_TANH32 = (0.00224600369, -0.00830169536, 0.0217557003, -0.0539575951, 0.133332964, -0.333333331)
_ERF32 = (8.20416968e-5, -0.000810291556, 0.00519748723, -0.0268579591, 0.112836695, -0.37612632, 0.128379166)
_LOG_ERFC32 = (
    1.01184519e-6,
    -3.37652255e-5,
    0.000494089608,
    -0.00428439239,
    0.0250934346,
    -0.107792232,
    -0.634194742,
    -0.128888767,
)
_SIN = (
    -2.480070624050586048e-8,
    2.755593717025998272e-6,
    -0.0001984126673751874596,
    0.008333333330892812282,
    -0.1666666666666359546,
)
_COS = (
    2.069707480348591682e-9,
    -2.755633125022941005e-7,
    0.00002480158508264888377,
    -0.001388888888714403904,
    0.04166666666666447089,
)
_SIN64 = (
    1.58962301576546568060e-10,
    -2.50507477628578072866e-8,
    2.75573136213857245213e-6,
    -1.98412698295895385996e-4,
    8.33333333332211858878e-3,
    -1.66666666666666307295e-1,
)
_COS64 = (
    -1.13585365213876817300e-11,
    2.08757008419747316778e-9,
    -2.75573141792967388112e-7,
    2.48015872888517045348e-5,
    -1.38888888888730564116e-3,
    4.16666666666665929218e-2,
)
_LN2 = {
    "float": (0.693145751953125, 1.428606765330187e-06),
    "double": (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
_MAGIC = {"float": 12582912.0, "double": 6755399441055744.0}  # adding 1.5 * 2**mantissa rounds to an integer
_INT = {"float": "i32", "double": "i64"}
_MANTISSA = {"float": 23, "double": 52}
_BIAS = {"float": 127, "double": 1023}


def function(b: Builder, name: str, x: Val) -> Val:
    """A scalar operator of float or double lanes, by its name."""
    rule = emitter(name, x.elem)
    assert rule is not None, name
    return rule(b, x)


def polynomial(b: Builder, x: Val, coefficients: Sequence[float]) -> Val:
    """Horner's scheme, the highest power first."""
    y = number(coefficients[0], x.elem)
    for c in coefficients[1:]:
        y = b.fma(y, x, number(c, x.elem))
    return y


def is_nan(b: Builder, x: Val) -> Val:
    return b.compare("fcmp uno", x, x)


# -------------------------------------------------------------------------------------------------- exponentials


def _split(b: Builder, x: Val) -> tuple[Val, Val, Val]:
    """x = n ln 2 + r: n as a number, n's bits as an integer, r."""
    magic, (high, low) = _MAGIC[x.elem], _LN2[x.elem]
    shifted = b.op("fadd", b.op("fmul", x, 1 / math.log(2)), magic)  # two roundings, as SLEEF's
    n = b.op("fsub", shifted, magic)
    bits = b.op("sub", b.convert("bitcast", shifted, _INT[x.elem]), _magic_bits(x.elem))
    r = b.fma(n, number(-high, x.elem), x)
    return n, bits, b.fma(n, number(-low, x.elem), r)


def _magic_bits(elem: str) -> int:
    return (_BIAS[elem] + _MANTISSA[elem]) << _MANTISSA[elem] | 1 << (_MANTISSA[elem] - 1)


def _power_of_two(b: Builder, n: Val, elem: str) -> Val:
    """2**n for an integer n that gives a normal number."""
    return b.convert("bitcast", b.op("shl", b.op("add", n, _BIAS[elem]), _MANTISSA[elem]), elem)


def _scale(b: Builder, x: Val, exponent: Val, n: Val) -> Val:
    """x 2**n, also where 2**n is too large or the result is subnormal. n is an integer, exponent the same as a float."""
    if (x.elem, x.lanes) in (("float", 16), ("double", 8)) and "avx512f" in engine.features():
        return _scale_instruction(b, x, exponent)
    half = b.op("ashr", n, 1)
    x = b.op("fmul", x, _power_of_two(b, half, x.elem))
    return b.op("fmul", x, _power_of_two(b, b.op("sub", n, half), x.elem))


def _scale_instruction(b: Builder, x: Val, exponent: Val) -> Val:
    """AVX-512 does it in one instruction."""
    symbol = f"@llvm.x86.avx512.mask.scalef.{'ps' if x.elem == 'float' else 'pd'}.512"
    kind, mask = x.type, f"i{x.lanes}"
    b.declare(symbol, f"declare {kind} {symbol}({kind}, {kind}, {kind}, {mask}, i32)")
    arguments = f"{kind} {x.text}, {kind} {exponent.text}, {kind} zeroinitializer, {mask} -1, i32 4"
    return b.emit(f"call {kind} {symbol}({arguments})", x.elem, x.lanes)


def _clamp(b: Builder, x: Val, low: float, high: float) -> Val:
    """x within bounds; nan stays."""
    x = b.select(b.compare("fcmp ogt", x, high), number(high, x.elem), x)
    return b.select(b.compare("fcmp olt", x, low), number(low, x.elem), x)


def _exp_fraction(b: Builder, r: Val) -> Val:
    """exp(r) - 1 for abs(r) <= ln 2 / 2."""
    q = polynomial(b, r, _EXP32 if r.elem == "float" else _EXP64)
    return b.fma(b.op("fmul", r, r), q, r)


@emits("exp")
def exp(b: Builder, x: Val) -> Val:
    low, high = (-104.0, 89.0) if x.elem == "float" else (-746.0, 710.0)
    # Where the result is 0 it is not computed: a product that underflows takes the processor 150 cycles (masked scores).
    nothing = b.compare("fcmp olt", x, low)
    x = _clamp(b, b.select(nothing, 0.0, x), low, high)
    exponent, n, r = _split(b, x)
    return b.select(nothing, 0.0, _scale(b, b.op("fadd", _exp_fraction(b, r), 1.0), exponent, n))


@emits("exp2", "widened")
def _exp2_double(b: Builder, x: Val) -> Val:
    x = _clamp(b, x, -1076.0, 1025.0)
    shifted = b.op("fadd", x, _MAGIC["double"])
    n = b.op("sub", b.convert("bitcast", shifted, "i64"), _magic_bits("double"))
    exponent = b.op("fsub", shifted, _MAGIC["double"])
    r = b.op("fmul", b.op("fsub", x, exponent), math.log(2))
    return _scale(b, b.op("fadd", _exp_fraction(b, r), 1.0), exponent, n)


@emits("expm1", "widened", "double")
def _expm1_double(b: Builder, x: Val) -> Val:
    """2**n (exp(r) - 1) + (2**n - 1), halved on the way so that 2**n cannot overflow too early."""
    high, low = _LN2["double"]
    y = _clamp(b, x, -40.0, 710.0)
    n, bits, r = _split(b, y)
    above = b.fma(n, number(-high, "double"), y)
    lost = b.fma(n, number(-low, "double"), b.op("fsub", above, r))
    fraction = b.op("fadd", r, b.fma(b.op("fmul", r, r), polynomial(b, r, _EXP64), lost))
    half = _power_of_two(b, b.op("sub", bits, 1), "double")
    y = b.fma(half, fraction, b.op("fsub", half, 0.5))
    y = b.op("fadd", y, y)
    return b.select(b.compare("fcmp oeq", x, 0.0), x, y)


@emits("sigmoid")
def _sigmoid(b: Builder, x: Val) -> Val:
    """1 / (1 + exp(-x)), rounded step by step as in torch: it is 1, and its slope 0, from 16.64 on in float32."""
    return b.op("fdiv", number(1.0, x.elem), b.op("fadd", exp(b, b.fneg(x)), 1.0))


def _quotient(b: Builder, top: Val, s: Val, lost: Val) -> Val:
    """top / (s + lost), one Newton step after the division."""
    inverse = b.op("fdiv", number(1.0, s.elem), s)
    q = b.op("fmul", top, inverse)
    rest = b.fma(b.fneg(q), s, top)
    rest = b.fma(b.fneg(q), lost, rest)
    return b.fma(rest, inverse, q)


@emits("tanh", "float")
def _tanh_float(b: Builder, x: Val) -> Val:
    """A polynomial near 0, 1 - 2 / (exp(2 abs(x)) + 1) elsewhere."""
    size = b.intrinsic("fabs", x)
    square = b.op("fmul", x, x)
    near = b.fma(b.op("fmul", x, square), polynomial(b, square, _TANH32), x)
    e = exp(b, b.op("fadd", size, size))
    far = b.op("fsub", number(1.0, "float"), b.op("fdiv", number(2.0, "float"), b.op("fadd", e, 1.0)))
    return b.intrinsic("copysign", b.select(b.compare("fcmp olt", size, 0.625), near, far), x)


@emits("tanh", "double")
def _tanh_double(b: Builder, x: Val) -> Val:
    """t / (t + 2) with t = expm1(2 abs(x))."""
    size = _clamp(b, b.intrinsic("fabs", x), 0.0, 30.0)
    t = _expm1_double(b, b.op("fadd", size, size))
    s = b.op("fadd", t, 2.0)
    return b.intrinsic("copysign", _quotient(b, t, s, b.op("fsub", t, b.op("fsub", s, 2.0))), x)


@emits("erf", "float")
def _erf_float(b: Builder, x: Val) -> Val:
    """A polynomial below 0.92; 1 - exp(p(x)) above, where p approximates log(erfc)."""
    size = b.intrinsic("fabs", x)
    square = b.op("fmul", x, x)
    near = b.fma(polynomial(b, square, _ERF32), x, x)
    t = _clamp(b, size, 0.0, 4.0)
    log_erfc = b.fma(polynomial(b, t, _LOG_ERFC32), t, b.fneg(t))
    far = b.op("fsub", number(1.0, "float"), exp(b, log_erfc))
    return b.select(b.compare("fcmp olt", size, 0.921875), near, b.intrinsic("copysign", far, x))


# -------------------------------------------------------------------------------------------------- logarithms


def _mantissa(b: Builder, x: Val) -> tuple[Val, Val]:
    """x = 2**e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2): e as a number, f. x is positive."""
    bits, width, offset = _INT[x.elem], _MANTISSA[x.elem], 0x3F3504F3 if x.elem == "float" else 0x3FE6A09E667F3BCD
    tiny = b.compare("fcmp olt", x, 2.0 ** (2 - _BIAS[x.elem] - 1))
    x = b.select(tiny, b.op("fmul", x, 2.0 ** (width + 1)), x)
    whole = b.convert("bitcast", x, bits)
    e = b.op("ashr", b.op("sub", whole, offset), width)
    m = b.convert("bitcast", b.op("sub", whole, b.op("shl", e, width)), x.elem)
    e = b.convert("sitofp", e, x.elem)
    e = b.select(tiny, b.op("fsub", e, float(width + 1)), e)
    return e, b.op("fsub", m, 1.0)


def _log_ends(b: Builder, x: Val, y: Val) -> Val:
    """y, but -inf at 0, nan below, inf and nan as they are."""
    y = b.select(b.compare("fcmp ult", x, math.inf), y, x)
    y = b.select(is_nan(b, x), x, y)
    y = b.select(b.compare("fcmp oeq", x, 0.0), -math.inf, y)
    return b.select(b.compare("fcmp olt", x, 0.0), math.nan, y)


@emits("log", "float")
def _log_float(b: Builder, x: Val) -> Val:
    e, f = _mantissa(b, x)
    square = b.op("fmul", f, f)
    y = b.op("fmul", b.op("fmul", square, f), polynomial(b, f, _LOG32))
    y = b.fma(e, number(_LN2["float"][1], "float"), y)
    y = b.fma(square, number(-0.5, "float"), y)
    return _log_ends(b, x, b.fma(e, number(_LN2["float"][0], "float"), b.op("fadd", f, y)))


@emits("log", "double")
def _log_double(b: Builder, x: Val) -> Val:
    """With s = f / (2 + f): log(1 + f) = f - (f²/2 - s (f²/2 + R(s²)))."""
    high, low = _LN2["double"]
    e, f = _mantissa(b, x)
    s = b.op("fdiv", f, b.op("fadd", f, 2.0))
    z = b.op("fmul", s, s)
    rest = b.op("fmul", z, polynomial(b, z, _LOG64))
    half = b.op("fmul", b.op("fmul", f, f), 0.5)
    y = b.fma(s, b.op("fadd", half, rest), b.op("fmul", e, low))
    y = b.op("fsub", b.op("fsub", half, y), f)
    return _log_ends(b, x, b.op("fsub", b.op("fmul", e, high), y))


@emits("log1p", "widened", "double")
def _log1p_double(b: Builder, x: Val) -> Val:
    """log(u) + (what 1 + x lost) / u, u = 1 + x."""
    u = b.op("fadd", x, 1.0)
    below = b.op("fsub", x, b.op("fsub", u, 1.0))
    above = b.op("fsub", number(1.0, "double"), b.op("fsub", u, x))
    lost = b.select(b.compare("fcmp olt", x, 1.0), below, above)
    y = _log_double(b, u)
    better = b.op("fadd", y, b.op("fdiv", lost, u))
    plain = b.intrinsic("fabs", y)
    y = b.select(b.compare("fcmp olt", plain, math.inf), better, y)
    return b.select(b.compare("fcmp oeq", x, 0.0), x, y)


@emits("log2", "widened")
def _log2_double(b: Builder, x: Val) -> Val:
    """The exponent separately, so that powers of two are exact."""
    e, f = _mantissa(b, x)
    y = b.op("fadd", e, b.op("fmul", _log_double(b, b.op("fadd", f, 1.0)), 1 / math.log(2)))
    return _log_ends(b, x, y)


@emits("log10", "widened")
def _log10_double(b: Builder, x: Val) -> Val:
    return b.op("fmul", _log_double(b, x), 1 / math.log(10))


# -------------------------------------------------------------------------------------------------- angles


def _quarter_turns(b: Builder, x: Val) -> tuple[Val, Val]:
    """The nearest whole number of quarter turns: as a number, and its last bits as an integer."""
    shifted = b.fma(x, number(2 / math.pi, "double"), number(_MAGIC["double"], "double"))
    return b.op("fsub", shifted, _MAGIC["double"]), b.convert("bitcast", shifted, "i64")


def _turned(b: Builder, x: Val, sine: Val, cosine: Val, turns: Val, quarter: int) -> Val:
    """sin(x + quarter pi/2) by what is left of x after so many quarter turns; beyond 2**25 of them, libm's."""
    turns = b.op("add", turns, quarter)
    odd = b.compare("icmp ne", b.op("and", turns, 1), 0)
    y = b.select(odd, cosine, sine)
    y = b.select(b.compare("icmp ne", b.op("and", turns, 2), 0), b.fneg(y), y)
    room = b.alloca("double", x.lanes)
    b.put(room, y)
    huge = b.compare("fcmp ogt", b.intrinsic("fabs", x), 2.0**25)
    with b.when(b.any_lane(huge)):
        b.put(room, libm(b, "cos" if quarter else "sin", x))
    return b.get(room, "double", x.lanes)


def _sine(b: Builder, x: Val, quarter: int) -> Val:
    """For a float32 x in double."""
    n, turns = _quarter_turns(b, x)
    r = b.fma(n, number(-1.5707963267948966, "double"), x)
    r = b.fma(n, number(-6.123233995736766e-17, "double"), r)
    square = b.op("fmul", r, r)
    sine = b.fma(b.op("fmul", r, square), polynomial(b, square, _SIN), r)
    cosine = b.op("fadd", b.op("fmul", square, -0.5), 1.0)
    cosine = b.fma(b.op("fmul", square, square), polynomial(b, square, _COS), cosine)
    return _turned(b, x, sine, cosine, turns, quarter)


def _product(b: Builder, x: Val, y: float) -> tuple[Val, Val]:
    """A product, and what its rounding lost."""
    product = b.op("fmul", x, y)
    return product, b.fma(x, number(y, "double"), b.fneg(product))


def _sum(b: Builder, x: Val, y: Val) -> tuple[Val, Val]:
    """A sum, and what its rounding lost."""
    total = b.op("fadd", x, y)
    of_y = b.op("fsub", total, x)
    return total, b.op("fadd", b.op("fsub", x, b.op("fsub", total, of_y)), b.op("fsub", y, of_y))


def _sine_double(b: Builder, x: Val, quarter: int) -> Val:
    """What is left of x in two numbers, the second for what the first cannot hold, as fdlibm does."""
    n, turns = _quarter_turns(b, x)
    first, first_lost = _product(b, n, 1.5707963267948966)
    second, second_lost = _product(b, n, 6.123233995736766e-17)
    rest, lost = _sum(b, first_lost, second)
    least = b.op("fadd", b.fma(n, number(-1.4973849048591833e-33, "double"), second_lost), lost)
    left = b.op("fsub", x, first)  # exact: they are within a factor of two of each other, or n is 0
    r = b.op("fsub", left, rest)
    low = b.op("fsub", b.op("fsub", b.op("fsub", left, r), rest), least)
    square = b.op("fmul", r, r)
    half = b.op("fmul", square, 0.5)
    near = b.op("fsub", number(1.0, "double"), half)
    sine = b.fma(b.op("fmul", r, square), polynomial(b, square, _SIN64), b.op("fmul", low, near))
    lost = b.op("fsub", b.op("fsub", number(1.0, "double"), near), half)
    lost = b.op("fsub", lost, b.op("fmul", r, low))
    small = b.fma(b.op("fmul", square, square), polynomial(b, square, _COS64), lost)
    return _turned(b, x, b.op("fadd", r, sine), b.op("fadd", near, small), turns, quarter)


def _angles(kind: str, sine: Callable[[Builder, Val, int], Val]) -> None:
    """Register sin, cos and tan of registers of a kind."""

    @emits("sin", kind)
    def sin(b: Builder, x: Val) -> Val:
        return b.select(b.compare("fcmp oeq", x, 0.0), x, sine(b, x, 0))

    @emits("cos", kind)
    def cos(b: Builder, x: Val) -> Val:
        return sine(b, x, 1)

    @emits("tan", kind)
    def tan(b: Builder, x: Val) -> Val:
        return b.op("fdiv", sin(b, x), cos(b, x))


_angles("widened", _sine)
_angles("double", _sine_double)


_ATAN = [(-1) ** k / (2 * k + 1) for k in range(13, 0, -1)]  # of a number below 0.415: to 1e-12


def _arc(b: Builder, y: Val, x: Val) -> Val:
    """The angle of a point whose coordinates are not negative: two reflections take it below pi / 8."""
    top, base = b.intrinsic("minnum", y, x), b.intrinsic("maxnum", y, x)
    steep = b.compare("fcmp ogt", y, x)
    alike = b.op("and", b.compare("fcmp oeq", y, x), b.compare("fcmp ogt", y, 0.0))  # both may be infinite
    t = b.select(alike, 1.0, b.select(b.compare("fcmp oeq", base, 0.0), 0.0, b.op("fdiv", top, base)))
    high = b.compare("fcmp ogt", t, math.sqrt(2) - 1)
    u = b.select(high, b.op("fdiv", b.op("fsub", t, 1.0), b.op("fadd", t, 1.0)), t)
    square = b.op("fmul", u, u)
    angle = b.fma(b.op("fmul", u, square), polynomial(b, square, _ATAN), u)
    angle = b.op("fadd", angle, b.select(high, number(math.pi / 4, "double"), number(0.0, "double")))
    return b.select(steep, b.op("fsub", number(math.pi / 2, "double"), angle), angle)


@emits("atan", "widened")
def _atan(b: Builder, x: Val) -> Val:
    angle = b.intrinsic("copysign", _arc(b, b.intrinsic("fabs", x), b.splat(number(1.0, "double"), x.lanes)), x)
    return b.select(is_nan(b, x), x, angle)


@emits("atan2", "widened")
def _atan2(b: Builder, y: Val, x: Val) -> Val:
    y, x = b.match(y, x)
    angle = _arc(b, b.intrinsic("fabs", y), b.intrinsic("fabs", x))
    bits = b.convert("bitcast", x, "i64")
    angle = b.select(b.compare("icmp slt", bits, 0), b.op("fsub", number(math.pi, "double"), angle), angle)
    angle = b.intrinsic("copysign", angle, y)
    return b.select(b.compare("fcmp uno", y, x), b.op("fadd", y, x), angle)


def _leg(b: Builder, x: Val) -> Val:
    """The root of 1 - x**2; nan for a number beyond 1."""
    return b.intrinsic("sqrt", b.op("fmul", b.op("fsub", number(1.0, "double"), x), b.op("fadd", x, 1.0)))


@emits("asin", "widened")
def _asin(b: Builder, x: Val) -> Val:
    leg = _leg(b, x)
    angle = b.intrinsic("copysign", _arc(b, b.intrinsic("fabs", x), leg), x)
    return b.select(is_nan(b, leg), leg, angle)


@emits("acos", "widened")
def _acos(b: Builder, x: Val) -> Val:
    leg = _leg(b, x)
    angle = _arc(b, leg, b.intrinsic("fabs", x))
    angle = b.select(b.compare("fcmp olt", x, 0.0), b.op("fsub", number(math.pi, "double"), angle), angle)
    return b.select(is_nan(b, leg), leg, angle)


@emits("sinh", "widened")
def _sinh(b: Builder, x: Val) -> Val:
    """(t + t / (t + 1)) / 2 with t = expm1(abs(x))."""
    t = _expm1_double(b, b.intrinsic("fabs", x))
    y = b.op("fmul", b.op("fadd", t, b.op("fdiv", t, b.op("fadd", t, 1.0))), 0.5)
    y = b.select(b.compare("fcmp oeq", t, math.inf), t, y)
    return b.intrinsic("copysign", y, x)


@emits("cosh", "widened")
def _cosh(b: Builder, x: Val) -> Val:
    e = exp(b, b.intrinsic("fabs", x))
    return b.op("fmul", b.op("fadd", e, b.op("fdiv", number(1.0, "double"), e)), 0.5)


@emits("asinh", "widened")
def _asinh(b: Builder, x: Val) -> Val:
    size = b.intrinsic("fabs", x)
    square = b.op("fmul", x, x)
    root = b.op("fadd", b.intrinsic("sqrt", b.op("fadd", square, 1.0)), 1.0)
    y = _log1p_double(b, b.op("fadd", size, b.op("fdiv", square, root)))
    return b.intrinsic("copysign", b.select(b.compare("fcmp olt", size, math.inf), y, size), x)


@emits("acosh", "widened")
def _acosh(b: Builder, x: Val) -> Val:
    t = b.op("fsub", x, 1.0)
    root = b.intrinsic("sqrt", b.op("fmul", t, b.op("fadd", x, 1.0)))
    return b.select(b.compare("fcmp olt", x, 1.0), math.nan, _log1p_double(b, b.op("fadd", t, root)))


@emits("atanh", "widened")
def _atanh(b: Builder, x: Val) -> Val:
    size = b.intrinsic("fabs", x)
    t = b.op("fdiv", b.op("fadd", size, size), b.op("fsub", number(1.0, "double"), size))
    return b.intrinsic("copysign", b.op("fmul", _log1p_double(b, t), 0.5), x)


# -------------------------------------------------------------------------------------------------- two arguments


@emits("pow")
def power(b: Builder, x: Val, y: Val) -> Val:
    """x**y. float32: exp2(y log2(abs(x))) in double, and what C says about signs and ends."""
    if x.elem == "double":
        return libm(b, "pow", x, y)
    wide, exponent = b.convert("fpext", x, "double"), b.convert("fpext", y, "double")
    size = b.intrinsic("fabs", wide)
    z = _exp2_double(b, b.op("fmul", exponent, _log2_double(b, size)))
    whole = b.compare("fcmp oeq", b.intrinsic("trunc", exponent), exponent)
    half = b.op("fmul", exponent, 0.5)
    odd = b.op("and", whole, b.compare("fcmp une", b.intrinsic("trunc", half), half))
    z = b.select(b.op("and", odd, is_negative(b, wide)), b.fneg(z), z)
    broken = b.compare("fcmp one", b.intrinsic("trunc", exponent), exponent)
    negative = b.op("and", b.compare("fcmp olt", wide, 0.0), b.compare("fcmp olt", size, math.inf))
    z = b.select(b.op("and", negative, broken), math.nan, z)
    unit = b.op("or", b.compare("fcmp oeq", wide, 1.0), b.compare("fcmp oeq", exponent, 0.0))
    endless = b.compare("fcmp oeq", b.intrinsic("fabs", exponent), math.inf)
    unit = b.op("or", unit, b.op("and", b.compare("fcmp oeq", size, 1.0), endless))
    return b.convert("fptrunc", b.select(unit, 1.0, z), "float")


def is_negative(b: Builder, x: Val) -> Val:
    """Whether the sign bit is set."""
    return b.compare("icmp slt", b.convert("bitcast", x, _INT[x.elem]), 0)


@emits("fmod", "widened")
def _left_over_of_floats(b: Builder, x: Val, y: Val) -> Val:
    """A quotient below 2**29 has an exact product with a float32 in double."""
    return _left_over(b, x, y, 2.0**29, lambda q, size, whole: b.op("fsub", whole, b.op("fmul", q, size)))


@emits("fmod", "double")
def _left_over_of_doubles(b: Builder, x: Val, y: Val) -> Val:
    if not engine.fuses():
        return libm(b, "fmod", x, y)
    return _left_over(b, x, y, 2.0**53, lambda q, size, whole: b.fma(b.fneg(q), size, whole))


def _left_over(b: Builder, x: Val, y: Val, most: float, rest: Callable[[Val, Val, Val], Val]) -> Val:
    """fmod, exactly: the rest of a quotient that may have been rounded up to the next whole number; libm's from `most` on."""
    whole, size = b.intrinsic("fabs", x), b.intrinsic("fabs", y)
    quotient = b.intrinsic("trunc", b.op("fdiv", whole, size))
    r = rest(quotient, size, whole)
    r = b.select(b.compare("fcmp olt", r, 0.0), b.op("fadd", r, size), r)
    room = b.alloca("double", r.lanes)
    b.put(room, b.intrinsic("copysign", r, x))
    others = b.op("or", b.compare("fcmp uge", quotient, most), b.compare("fcmp oeq", size, math.inf))
    with b.when(b.any_lane(others)):
        b.put(room, libm(b, "fmod", x, y))
    return b.get(room, "double", r.lanes)


@emits("hypot")
def hypotenuse(b: Builder, x: Val, y: Val) -> Val:
    if x.elem == "double":
        return libm(b, "hypot", x, y)
    x, y = (b.intrinsic("fabs", b.convert("fpext", v, "double")) for v in (x, y))
    z = b.intrinsic("sqrt", b.op("fadd", b.op("fmul", x, x), b.op("fmul", y, y)))
    endless = b.op("or", b.compare("fcmp oeq", x, math.inf), b.compare("fcmp oeq", y, math.inf))
    return b.convert("fptrunc", b.select(endless, math.inf, z), "float")


@emits("logaddexp")
def log_add_exp(b: Builder, x: Val, y: Val) -> Val:
    """max + log1p(exp(-abs(x - y))); equal infinities stay."""
    if x.elem == "float":
        wide = log_add_exp(b, b.convert("fpext", x, "double"), b.convert("fpext", y, "double"))
        return b.convert("fptrunc", wide, "float")
    difference = b.intrinsic("fabs", b.op("fsub", x, y))
    larger = b.select(b.compare("fcmp ogt", x, y), x, y)
    z = b.op("fadd", larger, _log1p_double(b, exp(b, b.fneg(difference))))
    return b.select(b.compare("fcmp oeq", x, y), b.op("fadd", x, math.log(2)), z)
