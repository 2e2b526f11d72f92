"""Generated kernels that eager operators call: random words and numbers, trials, writes to repeated places."""
