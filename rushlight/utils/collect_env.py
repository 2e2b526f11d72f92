"""torch.utils.collect_env: what is installed, as text for a bug report."""

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """What `rushlight env` prints."""
    import contextlib
    import io
    from importlib import import_module

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        import_module("rushlight.cli.environment").print_environment()
    return text.getvalue()


def main() -> None:
    """Print it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
