"""Elementary functions as straight-line code over vectors.

float32: exp, expm1, log, log1p, tanh, sigmoid, erf, sin and cos in their own precision (minimax polynomials, at most 2
units in the last place), the others through float64. float64: exp, expm1, log, log1p, tanh, sigmoid, sin, cos and tan at most 2 units, fmod
exact; the rest is libm's, lane by lane. All of the range, infinities, nan and subnormal numbers are right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....backend import isa
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
# Of erf around n / 4, n from 0 to 15, in 4 abs(x) - n: the coefficients of the 6th to the 1st power, then what rounding the
# number at n itself loses, and that number. At 0 of erf(x) / x.
# fmt: off
_ERF_QUARTERS = (
    (-6.51939763e-06, -9.69368648e-06, -1.21579433e-05, -6.57496639e-06, 1.07545225e-06, 5.15534202e-06,
     4.70137593e-06, 2.19436788e-06, 1.24358067e-07, -7.01438353e-07, -6.81225742e-07, -4.05291644e-07,
     -1.81211533e-07, -6.49613767e-08, -1.92422114e-08, -4.7907216e-09),
    (4.33735994e-14, 7.77503083e-05, 7.29463227e-06, -5.15045576e-05, -6.71592352e-05, -4.59779076e-05,
     -1.46436205e-05, 6.30777959e-06, 1.26920586e-05, 1.03897892e-05, 5.98832276e-06, 2.70843202e-06,
     1.00315867e-06, 3.10995716e-07, 8.17539458e-08, 1.83782571e-08),
    (0.000440766918, 0.000495959306, 0.000715149567, 0.00058863021, 0.000270263321, -2.40527224e-05,
     -0.000174211891, -0.000187900354, -0.000134552625, -7.45456637e-05, -3.36814664e-05, -1.27269022e-05,
     -4.07951893e-06, -1.11931399e-06, -2.64481855e-07, -5.40539453e-08),
    (-1.0754425e-14, -0.00483074086, -0.00228851405, 0.000418513693, 0.0021619678, 0.00261773472, 0.00216801581,
     0.00140872772, 0.000753495144, 0.000339448423, 0.000130468368, 4.31289227e-05, 1.23283926e-05,
     3.05895696e-06, 6.60671674e-07, 1.2447039e-07),
    (-0.0235078987, -0.0165627152, -0.0274619553, -0.0301373955, -0.0259442199, -0.0184782129, -0.0111497147,
     -0.00577226514, -0.00258337311, -0.00100438856, -0.000340356899, -0.00010076641, -2.61099558e-05,
     -5.92902552e-06, -1.18112666e-06, -2.06586336e-07),
    (4.96130914e-16, 0.265003532, 0.219695643, 0.160732776, 0.10377688, 0.0591302812, 0.0297325719, 0.013193748,
     0.00516674621, 0.00178557972, 0.000544571085, 0.000146569379, 3.48133035e-05, 7.29727435e-06,
     1.34986283e-06, 2.20359766e-07),
    (-5.86378093e-08, 1.98012695e-09, -7.26546734e-09, -1.93318286e-08, 1.35209159e-08, -1.20255033e-08,
     -1.66215113e-08, -1.49539403e-08, -2.20645227e-08, -1.86043625e-08, 2.84969595e-08, -9.28169896e-09,
     2.2826276e-08, -1.12450014e-08, -2.78426189e-08, 5.48203793e-09),
    (1.12837923, 0.276326388, 0.520499885, 0.711155653, 0.842700779, 0.92290014, 0.966105163, 0.986671686,
     0.995322287, 0.998537302, 0.999593019, 0.999899387, 0.999977887, 0.999995708, 0.999999285, 0.999999881),
)
# Around n / 1.9375, n from 0 to 7, from the 7th power on.
_ERF_HALVES = (
    (1.73611516e-12, 5.62465939e-05, 0.000133797774, -5.13896921e-05, -2.53850321e-05, 6.13662405e-06,
     2.88623733e-06, 3.42454229e-07),
    (-0.000494901731, -0.000909029332, 0.000136163231, 0.000328183902, -1.29212131e-05, -4.61359632e-05,
     -9.88816919e-06, -8.53582264e-07),
    (-6.45753958e-13, 9.50636168e-05, -0.00248941081, -0.000348507252, 0.000476020679, 0.000177457885,
     2.40996906e-05, 1.55590806e-06),
    (0.00800531823, 0.0130163077, 0.00412605936, -0.00337268622, -0.00214536907, -0.000455491623,
     -4.56983544e-05, -2.37952486e-06),
    (6.67453357e-14, -0.0185117889, 0.0201534647, 0.0178484172, 0.00548304385, 0.000816421933, 6.43157618e-05,
     2.78319749e-06),
    (-0.1001959, -0.118860595, -0.106904238, -0.0423281565, -0.00874433666, -0.000994066009, -6.36807599e-05,
     -2.32826073e-06),
    (-1.69309011e-15, 0.446192235, 0.20065406, 0.0529652685, 0.00820638239, 0.000746327802, 3.98404882e-05,
     1.24834855e-06),
    (-5.94274567e-08, -1.11956853e-08, -1.23772566e-08, 2.92701152e-08, -2.15604157e-08, 1.16867289e-08,
     2.57582116e-08, -2.51282835e-08),
    (1.12837923, 0.534558892, 0.855664134, 0.971457601, 0.996495962, 0.999737322, 0.999988079, 0.999999702),
)
# fmt: on
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
_SIN32 = (-0.000195152956, 0.00833216087, -0.166666546)
_COS32 = (2.44331571e-5, -0.00138873163, 0.0416666457)
_HALF_PI32 = (1.57079637, -4.37113883e-8, -1.71512451e-15)
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


def _except(b: Builder, rare: Val, usual: Val, exact: Callable[[], Val]) -> Val:
    """What is usual, but for all lanes what `exact` works out where a lane is rare: the usual ones get the same bits."""
    room = b.alloca(usual.elem, usual.lanes)
    b.put(room, usual)
    with b.when(b.any_lane(rare), unlikely=True):
        b.put(room, exact())
    return b.get(room, usual.elem, usual.lanes)


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
    if _scales(x):
        return _scale_instruction(b, x, exponent)
    half = b.op("ashr", n, 1)
    x = b.op("fmul", x, _power_of_two(b, half, x.elem))
    return b.op("fmul", x, _power_of_two(b, b.op("sub", n, half), x.elem))


def _scales(x: Val) -> bool:
    """Whether AVX-512 does it in one instruction."""
    return (x.elem, x.lanes) in (("float", 16), ("double", 8)) and "avx512f" in engine.features()


def _scale_instruction(b: Builder, x: Val, exponent: Val) -> Val:
    """`_scale` in one instruction."""
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
    z = b.op("fadd", _exp_fraction(b, r), 1.0)
    if x.elem == "double" or _scales(x):
        return b.select(nothing, 0.0, _scale(b, z, exponent, n))
    plain = b.op("add", b.convert("bitcast", z, "i32"), b.op("shl", n, _MANTISSA["float"]))
    rare = b.compare("fcmp ugt", b.intrinsic("fabs", x), 87.0)
    y = _except(b, rare, b.convert("bitcast", plain, "float"), lambda: _scale(b, z, exponent, n))
    return b.select(nothing, 0.0, y)


@emits("exp2", "widened")
def _exp2_double(b: Builder, x: Val) -> Val:
    x = _clamp(b, x, -1076.0, 1025.0)
    shifted = b.op("fadd", x, _MAGIC["double"])
    n = b.op("sub", b.convert("bitcast", shifted, "i64"), _magic_bits("double"))
    exponent = b.op("fsub", shifted, _MAGIC["double"])
    r = b.op("fmul", b.op("fsub", x, exponent), math.log(2))
    return _scale(b, b.op("fadd", _exp_fraction(b, r), 1.0), exponent, n)


@emits("expm1", "float")
def _expm1_float(b: Builder, x: Val) -> Val:
    """As for double, but nearly 0 it is x."""
    y = _clamp(b, x, -18.0, 89.0)
    _, bits, r = _split(b, y)
    fraction = b.fma(b.op("fmul", r, r), polynomial(b, r, _EXP32), r)
    half = _power_of_two(b, b.op("sub", bits, 1), "float")
    y = b.fma(half, fraction, b.op("fsub", half, 0.5))
    return b.select(b.compare("fcmp olt", b.intrinsic("fabs", x), 2.0**-26), x, b.op("fadd", y, y))


@emits("expm1", "double")
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


def _permuted(b: Builder, table: Sequence[float], index: Val) -> Val:
    """The numbers of a table, one for each lane of a register, at the last bits of the indices."""
    lanes = index.lanes
    symbol = "@llvm.x86.avx512.permvar.sf.512" if lanes == 16 else "@llvm.x86.avx2.permps"
    kind = f"<{lanes} x float>"
    b.declare(symbol, f"declare {kind} {symbol}({kind}, {index.type})")
    numbers = ", ".join(f"float {number(v, 'float').text}" for v in table)
    return b.emit(f"call {kind} {symbol}({kind} <{numbers}>, {index.type} {index.text})", "float", lanes)


def _in_registers(b: Builder, x: Val, lanes: int, function: Callable[[Builder, Val], Val]) -> Val:
    """A function of registers of so many lanes, of fewer or more: an element's bits are the same in all."""
    if x.lanes == lanes:
        return function(b, x)
    if not x.lanes:
        return b.extract(function(b, b.splat(x, lanes)), 0)
    if x.lanes < lanes:
        wide = b.shuffle(x, x, [i % x.lanes for i in range(lanes)])
        y = function(b, wide)
        return b.shuffle(y, y, range(x.lanes))
    half = x.lanes // 2
    low, high = (_in_registers(b, b.shuffle(x, x, range(i, i + half)), lanes, function) for i in (0, half))
    return b.shuffle(low, high, range(x.lanes))


def _erf_by_tables(b: Builder, x: Val) -> Val:
    """A polynomial around the nearest of 16 or 8 points, whose coefficients a register holds."""
    scale, rows = (4.0, _ERF_QUARTERS) if x.lanes == 16 else (1.9375, _ERF_HALVES)
    end = (len(rows[0]) - 0.51) / scale  # from where erf is 1 to rounding
    size = b.intrinsic("fabs", x)
    beyond = b.compare("fcmp ogt", size, end)
    t = b.select(beyond, end, size)
    shifted = b.fma(t, number(scale, "float"), number(_MAGIC["float"], "float"))
    index = b.convert("bitcast", shifted, "i32")
    near = b.op("fsub", shifted, _MAGIC["float"])
    d = b.fma(t, number(scale, "float"), b.fneg(near))
    y = _permuted(b, rows[0], index)
    for row in rows[1:-1]:
        y = b.fma(y, d, _permuted(b, row, index))
    y = b.op("fadd", y, _permuted(b, rows[-1], index))
    y = b.select(b.compare("fcmp oeq", near, 0.0), b.op("fmul", y, t), y)
    return b.intrinsic("copysign", b.select(beyond, 1.0, y), x)


@emits("erf", "float")
def _erf_float(b: Builder, x: Val) -> Val:
    lanes = engine.vector_bytes() // 4
    if lanes >= 8 and engine.fuses() and not isa.is_arm():
        return _in_registers(b, x, lanes, _erf_by_tables)
    return _erf_by_exp(b, x)


def _erf_by_exp(b: Builder, x: Val) -> Val:
    """A polynomial below 0.92; 1 - exp(p(x)) above, where p approximates log(erfc)."""
    size = b.intrinsic("fabs", x)
    square = b.op("fmul", x, x)
    near = b.fma(polynomial(b, square, _ERF32), x, x)
    t = _clamp(b, size, 0.0, 4.0)
    log_erfc = b.fma(polynomial(b, t, _LOG_ERFC32), t, b.fneg(t))
    far = b.op("fsub", number(1.0, "float"), exp(b, log_erfc))
    return b.select(b.compare("fcmp olt", size, 0.921875), near, b.intrinsic("copysign", far, x))


# -------------------------------------------------------------------------------------------------- logarithms


_LEAST = 0x00800000  # the bits of the least normal float32


def _mantissa(b: Builder, x: Val) -> tuple[Val, Val]:
    """x = 2**e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2): e as a number, f. x is positive."""
    width = _MANTISSA[x.elem]
    tiny = b.compare("fcmp olt", x, 2.0 ** (2 - _BIAS[x.elem] - 1))
    e, f = _mantissa_of_normal(b, b.select(tiny, b.op("fmul", x, 2.0 ** (width + 1)), x))
    return b.select(tiny, b.op("fsub", e, float(width + 1)), e), f


def _mantissa_of_normal(b: Builder, x: Val) -> tuple[Val, Val]:
    """`_mantissa` of what is not subnormal."""
    bits, width, offset = _INT[x.elem], _MANTISSA[x.elem], 0x3F3504F3 if x.elem == "float" else 0x3FE6A09E667F3BCD
    whole = b.convert("bitcast", x, bits)
    e = b.op("ashr", b.op("sub", whole, offset), width)
    m = b.convert("bitcast", b.op("sub", whole, b.op("shl", e, width)), x.elem)
    return b.convert("sitofp", e, x.elem), b.op("fsub", m, 1.0)


def _beyond(b: Builder, x: Val, end: int) -> Val:
    """Whether a float32 is not normal, negative, nan, or its bits are not below `end`."""
    return b.compare("icmp uge", b.op("sub", b.convert("bitcast", x, "i32"), _LEAST), end - _LEAST)


def _log_ends(b: Builder, x: Val, y: Val) -> Val:
    """y, but -inf at 0, nan below, inf and nan as they are."""
    y = b.select(b.compare("fcmp ult", x, math.inf), y, x)
    y = b.select(is_nan(b, x), x, y)
    y = b.select(b.compare("fcmp oeq", x, 0.0), -math.inf, y)
    return b.select(b.compare("fcmp olt", x, 0.0), math.nan, y)


@emits("log", "float")
def _log_float(b: Builder, x: Val) -> Val:
    usual = _log_of(b, *_mantissa_of_normal(b, x))
    return _except(b, _beyond(b, x, 0x7F800000), usual, lambda: _log_ends(b, x, _log_of(b, *_mantissa(b, x))))


@emits("log1p", "float")
def _log1p_float(b: Builder, x: Val) -> Val:
    """Of u = 1 + x = 2**e (1 + f) the f is worked out from x, as rounding u would lose its end; from 2**30 on it is log(u)."""
    u = b.op("fadd", x, 1.0)
    e, _ = _mantissa_of_normal(b, u)
    scale = _power_of_two(b, b.op("sub", number(0, "i32"), b.convert("fptosi", e, "i32")), "float")
    usual = _log_of(b, e, b.fma(x, scale, b.op("fsub", scale, 1.0)))

    def exact() -> Val:
        y = _log_ends(b, u, _log_of(b, *_mantissa(b, u)))
        return b.select(_beyond(b, u, 0x4E800000), y, usual)

    return b.select(b.compare("fcmp oeq", x, 0.0), x, _except(b, _beyond(b, u, 0x4E800000), usual, exact))


def _log_of(b: Builder, e: Val, f: Val) -> Val:
    """The logarithm of 2**e (1 + f)."""
    square = b.op("fmul", f, f)
    y = b.op("fmul", b.op("fmul", square, f), polynomial(b, f, _LOG32))
    y = b.fma(e, number(_LN2["float"][1], "float"), y)
    y = b.fma(square, number(-0.5, "float"), y)
    return b.fma(e, number(_LN2["float"][0], "float"), b.op("fadd", f, y))


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


@emits("log1p", "double")
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
    y = _by_quarter(b, sine, cosine, b.op("add", turns, quarter))
    huge = b.compare("fcmp ogt", b.intrinsic("fabs", x), 2.0**25)
    return _except(b, huge, y, lambda: libm(b, "cos" if quarter else "sin", x))


def _sine_float(b: Builder, x: Val, quarter: int) -> Val:
    """From 1024 on in double."""
    magic = number(_MAGIC["float"], "float")
    shifted = b.fma(x, number(2 / math.pi, "float"), magic)
    n, turns = b.op("fsub", shifted, magic), b.convert("bitcast", shifted, "i32")
    r = x
    for part in _HALF_PI32:
        r = b.fma(n, number(-part, "float"), r)
    square = b.op("fmul", r, r)
    sine = b.fma(b.op("fmul", r, square), polynomial(b, square, _SIN32), r)
    cosine = b.fma(square, number(-0.5, "float"), b.splat(number(1.0, "float"), x.lanes))
    cosine = b.fma(b.op("fmul", square, square), polynomial(b, square, _COS32), cosine)
    y = _by_quarter(b, sine, cosine, b.op("add", turns, quarter))
    rare = b.compare("fcmp uge", b.intrinsic("fabs", x), 1024.0)

    def exact() -> Val:
        wide = _sine(b, b.convert("fpext", x, "double"), quarter)
        return b.select(rare, b.convert("fptrunc", wide, "float"), y)

    return _except(b, rare, y, exact)


def _by_quarter(b: Builder, sine: Val, cosine: Val, turns: Val) -> Val:
    odd = b.compare("icmp ne", b.op("and", turns, 1), 0)
    y = b.select(odd, cosine, sine)
    return b.select(b.compare("icmp ne", b.op("and", turns, 2), 0), b.fneg(y), y)


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


def _angles(sines: str, tangents: str, sine: Callable[[Builder, Val, int], Val]) -> None:
    """Register sin and cos, and tan, of registers of a kind."""

    def sin(b: Builder, x: Val) -> Val:
        return b.select(b.compare("fcmp oeq", x, 0.0), x, sine(b, x, 0))

    def cos(b: Builder, x: Val) -> Val:
        return sine(b, x, 1)

    if sines:
        emits("sin", sines)(sin)
        emits("cos", sines)(cos)
    if tangents:
        emits("tan", tangents)(lambda b, x: b.op("fdiv", sin(b, x), cos(b, x)))


_angles("float", "", _sine_float)
_angles("", "widened", _sine)  # the quotient of two rounded numbers would be two units off
_angles("double", "double", _sine_double)


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
