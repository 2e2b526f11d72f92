"""The old name of `torch.distributed.run`: it also passes --local-rank=N to the program, unless --use-env is given."""

from __future__ import annotations

import warnings

from .elastic.utils import macros
from .run import parse_args, run

__all__ = ["main"]


def main(args: list[str] | None = None) -> None:
    """Carry out the command line; warns as torch does."""
    warnings.warn(
        "The module torch.distributed.launch is deprecated\n"
        "and will be removed in future. Use torchrun.\n"
        "Note that --use-env is set by default in torchrun.\n"
        "If your script expects `--local-rank` argument to be set, please\n"
        "change it to read from `os.environ['LOCAL_RANK']` instead. See \n"
        "https://pytorch.org/docs/stable/distributed.html#launch-utility for \n"
        "further instructions\n",
        FutureWarning,
        stacklevel=2,
    )
    arguments = parse_args(args)
    if not arguments.use_env:
        arguments.training_script_args.insert(0, f"--local-rank={macros.local_rank}")
    run(arguments)


if __name__ == "__main__":
    main()
