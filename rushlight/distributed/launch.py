"""The old name of `torch.distributed.run`: it also passes --local-rank to the program, unless --use-env is given."""

from __future__ import annotations

from .run import parse_args, run

__all__ = ["main"]


def main(args: list[str] | None = None) -> None:
    """Carry out the command line, with the environment's LOCAL_RANK only."""
    arguments = parse_args(args)
    if not arguments.use_env:
        raise NotImplementedError(
            "torch.distributed.launch without --use-env passes --local-rank to the program; use torch.distributed.run, "
            "and let the program read the environment's LOCAL_RANK"
        )
    run(arguments)


if __name__ == "__main__":
    main()
