"""The tests that depend on the processor, once more under each instruction set below this machine's, and without oneDNN.

Usage: python -m tools.caps [--whole]

A third of them, another one for each commit (by the number that its id is), so that all of `.ci/run` takes about 15 minutes on
two quiet cores: whole, they alone take six to nine. --whole runs all of them, as before a release and after changes of
kernels or generated code.

Chosen by measurement: what generates code or calls a library's kernels, and the golden runs. The machine's own instruction set
is that of the whole suite, so it is not repeated, and on one with a matrix unit AVX-512 repeats what computes otherwise without it.
Left out are files of tests/compile that only look at what Python does while a function is captured or a program is found
again, which take half of its time, the messages of errors in tests/examples, what looks at layouts and memory, not at
numbers, and linear algebra, which is LAPACK's.
"""

import os
import subprocess
import sys

from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched

from rushlight.backend import isa

TESTS = ("compile", "backend", "ops", "nn", "amp", "examples")
# What generates code, and random programs of it: SSE4.1 alone is rare, in Pentiums and Atoms.
_GENERATED = (
    "combine", "draws", "im2col", "llvm_lanes", "llvm_math", "llvm_nests", "llvm_program", "loops", "native_operators", "pool",
    "random_programs", "scalar_ops", "short_floats", "update", "windows",
)  # fmt: skip
OF_OLDEST = ("backend", "amp", *(f"compile/test_{name}.py" for name in _GENERATED))
# What computes otherwise without a matrix unit and instructions for bfloat16, for machines that have both: on one with AVX-512
# alone the whole suite runs so.
_OF_SHORT_FLOATS = (
    "native_operators", "onednn_attention", "onednn_convolution", "onednn_matmul", "packs", "parts_product", "random_programs",
    "recurrent", "short_floats", "llvm_lanes", "llvm_math", "llvm_nests", "scalar_ops",
)  # fmt: skip
BELOW_AMX = (
    "backend", "amp", *(f"compile/test_{name}.py" for name in _OF_SHORT_FLOATS),
    *(f"ops/test_{name}.py" for name in ("attention", "conv", "matmul", "recurrent", "rounding")),
)  # fmt: skip
LEFT_OUT = (
    "compile/test_records", "compile/test_value_errors", "compile/test_capture_errors",
    "compile/test_capturing_threads", "compile/test_threads", "compile/test_memory_use", "compile/test_examples",
    "compile/test_mutations", "compile/test_python_changes", "compile/test_threads_stress", "compile/test_program_cache",
    "compile/test_code_cache", "compile/test_object_file", "compile/test_repeated_operators", "compile/test_capture_steps",
    "compile/test_capture_modules", "compile/test_argument_objects", "compile/test_result_objects", "examples/test_failures",
    "compile/test_eager_programs", "compile/test_module_calls", "compile/test_unmodified_programs", "compile/test_repeated",
    "compile/test_flat_programs", "compile/test_autocast", "backend/test_isa", "ops/test_memory_order", "ops/test_layout_options",
    "ops/test_view", "ops/test_linalg", "ops/test_order_of_checks", "ops/test_refused", "ops/test_numpy_names",
    "ops/test_missing_arguments", "ops/test_number_first", "ops/test_torchs_forms",
)  # fmt: skip
CHECKS_LEFT_OUT = ("inputs_untouched", "strides", "memory", "inplace", "out")  # of the suite of all operators
# What calls oneDNN's kernels or does without, as on ARM.
WITHOUT_ONEDNN = (
    "nn", "backend/test_onednn_rows.py", "ops/test_conv.py", "ops/test_pool.py", "ops/test_memory_order.py",
    *(f"compile/test_{name}.py" for name in ("native_operators", "im2col", "update", "recurrent", "short_floats", "loops")),
)  # fmt: skip
PARTS = 3
RANDOM_PROGRAMS = "40"  # of the suite's 120
OPENBLAS = {"sse41": "Nehalem", "avx2": "Haswell", "avx512": "SkylakeX"}
# NumPy's own code is capped likewise; its baseline is x86-64-v2. NumPy 2.3 has names for smaller groups.
_V2 = {"SSSE3", "SSE41", "POPCNT", "SSE42"}
KEPT = {"sse41": _V2, "avx2": _V2 | {"AVX", "F16C", "FMA3", "AVX2", "X86_V3"}}
BEYOND = ("AVX512_KN", "AVX512_C", "AVX512_I", "AVX512_SPR")  # AVX-512 of later than the first server processors


def disabled(level):
    """The features that NumPy is not to use."""
    if level in KEPT:
        return [name for name in dispatched if name not in KEPT[level]]
    return [name for name in dispatched if name.startswith(BEYOND)]


def part_of_commit(parts=PARTS):
    """The part of the tests whose turn it is at this commit, as "i/n"; the first one outside a repository."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    return f"{int(done.stdout, 16) % parts if done.returncode == 0 else 0}/{parts}"


def environment(level):
    """What limits Rushlight, NumPy, OpenBLAS, and the number of random programs."""
    own = {
        "RUSHLIGHT_ISA": level,
        "OPENBLAS_CORETYPE": OPENBLAS[level],
        "NPY_DISABLE_CPU_FEATURES": " ".join(disabled(level)),
        "RUSHLIGHT_PROGRAMS": RANDOM_PROGRAMS,
    }
    return {**os.environ, **own}


def main(arguments):
    if arguments not in ([], ["--whole"]):
        sys.exit(__doc__)
    if not arguments:
        os.environ["RUSHLIGHT_TESTS_PART"] = part_of_commit()
        print(f"part {os.environ['RUSHLIGHT_TESTS_PART']} of the tests; --whole runs all of them", flush=True)
    levels = ["none", *OPENBLAS, "amx"]
    reached = [level for level in OPENBLAS if levels.index(level) < levels.index(isa.of_processor())]
    left_out = [f"--ignore=tests/{name}.py" for name in LEFT_OUT]
    left_out += [f"--deselect=tests/ops/test_suite.py::test_operator[{check}-" for check in CHECKS_LEFT_OUT]
    command = [sys.executable, "-m", "pytest", *left_out]
    failed = []
    chosen = {"sse41": OF_OLDEST}
    if isa.of_processor() == "amx":
        chosen["avx512"] = BELOW_AMX
    for level in reached:
        print(f"RUSHLIGHT_ISA={level}, NumPy without {' '.join(disabled(level))}", flush=True)
        folders = [f"tests/{folder}" for folder in chosen.get(level, TESTS)]
        if subprocess.run([*command, *folders], env=environment(level)).returncode:
            failed.append(level)
    print("RUSHLIGHT_ONEDNN=0", flush=True)
    command = [sys.executable, "-m", "pytest", *(f"tests/{name}" for name in WITHOUT_ONEDNN)]
    if subprocess.run(command, env={**os.environ, "RUSHLIGHT_ONEDNN": "0"}).returncode:
        failed.append("(no oneDNN)")
    sys.exit(f"failed under RUSHLIGHT_ISA={', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
