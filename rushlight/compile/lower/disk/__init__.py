"""Generated code on disk: the files (`code_cache`), what LLVM says of the processor (`host`), and code put into memory without
LLVM (`object_file`)."""
