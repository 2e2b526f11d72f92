"""Native code for eager calls: backward, single operators, loops over large arrays, and optimizers' steps."""
