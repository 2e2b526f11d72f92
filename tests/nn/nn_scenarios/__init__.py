"""What a user does with modules, as functions of the library under test: each returns plain data to compare.

`tests/golden/make_nn.py` runs them with torch and writes the answers; `test_module_scenarios.py` runs them with
Rushlight.
"""

from . import containers, hooks, layers, module, state, values

SCENARIOS = {
    **module.SCENARIOS,
    **state.SCENARIOS,
    **hooks.SCENARIOS,
    **containers.SCENARIOS,
    **layers.SCENARIOS,
    **values.SCENARIOS,
}
