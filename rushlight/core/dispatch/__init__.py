"""From a call to a kernel: operators and their entry points, what the fast path leaves out, modes, in-place writes."""
