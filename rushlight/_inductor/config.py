"""Settings for torch's code generator. They may be set and read back; nothing here depends on them."""

coordinate_descent_tuning = False
epilogue_fusion = True
fx_graph_cache = True
max_autotune = False
