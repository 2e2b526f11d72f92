"""The old name of `torch.distributed.run`: it also passes --local-rank=N to the program, unless --use-env is given."""

from __future__ import annotations

from .elastic.utils import macros
from .run import parse_args, run

__all__ = ["main"]


def main(args: list[str] | None = None) -> None:
    """Carry out the command line."""
    arguments = parse_args(args)
    if not arguments.use_env:
        arguments.training_script_args.insert(0, f"--local-rank={macros.local_rank}")
    run(arguments)


if __name__ == "__main__":
    main()
