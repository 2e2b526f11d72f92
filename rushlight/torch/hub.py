"""`torch.hub`: models from a folder with a `hubconf.py`, and weights from an address.

A repository is loaded from a local folder, or from the cache where torch (or git) has put it. Downloading one as a
program to run is left to git: that raises NotImplementedError and says what to do.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ..core.atomic import replacing

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_hub_dir: str | None = None
_CHUNK_BYTES = 128 * 1024
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def get_dir() -> str:
    """The cache folder: what `set_dir` said, or `$TORCH_HOME/hub`, by default `~/.cache/torch/hub`."""
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Use `d` as the cache folder."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


# ---------------------------------------------------------------------------------------------- models


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function `model` of the repository's `hubconf.py` returns for `args` and `kwargs`.

    source: 'local' (`repo_or_dir` is a folder) or 'github' ('owner/name[:ref]', which has to be in the cache). trust_repo:
    False asks on the terminal; whatever is in the cache counts as trusted otherwise, as in torch. skip_validation: for
    downloads, of which there are none. Raises ValueError for another source, RuntimeError where `hubconf.py` lacks the function or a dependency, and
    NotImplementedError for a repository that is not in the cache (or force_reload=True).
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        repo_or_dir = _cached(repo_or_dir, force_reload, verbose, trust_repo)
    with _module(repo_or_dir) as hubconf:
        return _entry(hubconf, model)(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    verbose: bool = True,
) -> Any:
    """The names of the functions that `load` finds in a cached repository."""
    with _module(_cached(github, force_reload, verbose, trust_repo)) as hubconf:
        return [name for name in dir(hubconf) if not name.startswith("_") and callable(getattr(hubconf, name))]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
) -> str | None:
    """The docstring of a function that `load` finds in a cached repository."""
    with _module(_cached(github, force_reload, True, trust_repo)) as hubconf:
        return _entry(hubconf, model).__doc__


def _cached(github: str, force_reload: bool, verbose: bool, trust_repo: bool | str | None) -> str:
    repository, _, ref = github.partition(":")
    owner, slash, name = repository.partition("/")
    if not slash:
        raise ValueError(f"expected 'owner/name[:ref]', got {github!r}")
    if trust_repo is False:
        _ask_whether_trusted(f"{owner}_{name}")
    for candidate in [ref] if ref else ["main", "master"]:
        folder = os.path.join(get_dir(), "_".join([owner, name, candidate.replace("/", "_")]))
        if os.path.isdir(folder) and not force_reload:
            if verbose:
                sys.stderr.write(f"Using cache found in {folder}\n")
            return folder
    _refuse_download(repository, ref)


def _ask_whether_trusted(name: str) -> None:
    """Ask on the terminal. Raises Exception, torch's type, for a no, and ValueError for neither yes nor no."""
    answer = input(
        f"The repository {name} does not belong to the list of trusted repositories and as such cannot be downloaded. Do you "
        "trust this repository and wish to add it to the trusted list of repositories (y/N)?"
    )
    if answer.lower() in ("n", "no", ""):
        raise Exception("Untrusted repository.")
    if answer.lower() not in ("y", "yes"):
        raise ValueError(f"Unrecognized response {answer}.")


def _refuse_download(repository: str, ref: str) -> NoReturn:
    branch = f"--branch {ref} " if ref else ""
    raise NotImplementedError(
        f"torch.hub does not download programs: {repository} is not in the cache {get_dir()}. Fetch it with `git clone "
        f"{branch}https://github.com/{repository}` and call torch.hub.load('<its folder>', ..., source='local')."
    )


@contextmanager
def _module(folder: str) -> Iterator[Any]:
    """`hubconf.py` of a folder as a module, with the folder on the search path."""
    import importlib.util

    path = os.path.join(folder, "hubconf.py")
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("hubconf.py", path)
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        yield module
    finally:
        sys.path.remove(str(folder))


def _entry(hubconf: Any, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    import importlib.util

    missing = [name for name in getattr(hubconf, "dependencies", None) or () if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    function = getattr(hubconf, model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


# ---------------------------------------------------------------------------------------------- weights


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Fetch `url` into the file `dst`, whole or not at all.

    progress: whether a terminal shows how much is there; nothing is shown where standard error is no terminal.
    Raises RuntimeError where the SHA-256 does not begin with `hash_prefix`, and urllib's URLError where the address
    cannot be reached.
    """
    from hashlib import sha256
    from urllib.request import Request, urlopen

    from ..core.terminal import download_bar

    dst = os.path.expanduser(dst)
    digest = sha256()
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as answer, replacing(dst) as file:
        size = answer.headers.get("Content-Length")
        total = None if size is None else int(size)
        with download_bar(total, shown=progress) as advance:
            while block := answer.read(_CHUNK_BYTES):
                file.write(block)
                digest.update(block)
                advance(len(block))
        found = digest.hexdigest()
        if hash_prefix is not None and not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """`torch.load` of the file at `url`, which is fetched once into `model_dir` (by default `<get_dir()>/checkpoints`).

    check_hash: the file's name ends in '-<first digits of its SHA-256>', which is checked.
    """
    from urllib.parse import urlparse

    from ..serialization import load as load_file

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        download_url_to_file(url, path, _hash_in(name) if check_hash else None, progress=progress)
    return load_file(path, map_location=map_location, weights_only=weights_only)


def _hash_in(name: str) -> str | None:
    """The digits between the last '-' of a file's name and its ending: 'resnet18-5c106cde.pth'."""
    found = HASH_REGEX.search(name)
    return found.group(1) if found else None
