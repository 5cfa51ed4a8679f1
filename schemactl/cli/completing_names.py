"""What shells offer where a schema is asked for: those of the folder that the call or its settings name."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from schemactl.cli.completing import beginning
from schemactl.errors import InputError


def complete_references(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the REFs that begin so: schemas of the folder, and branches and tags after ``git:``."""
    kind, colon, start = incomplete.partition(":")
    if colon and kind == "git":
        return [f"git:{name}" for name in beginning(start, _revisions())]
    if colon and kind in ("import", "export"):
        return [f"{kind}:{name}" for name in complete_names(ctx, start)]
    return [*complete_names(ctx, incomplete), *beginning(incomplete, ("git:", "import:", "export:"))]


def _revisions() -> list[str]:
    """Return the branches and tags of the working folder's repository; none where there is none."""
    from schemactl.store.git import run_git

    try:
        found = run_git(
            Path.cwd(), "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"
        )
    except InputError:
        return []
    return found.stdout.decode(errors="replace").split() if found.returncode == 0 else []


def complete_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the schemas that begin so, of the folder that the command line or a settings file names."""
    from schemactl.cli.options import CommonOptions
    from schemactl.cli.settings import Surroundings, find_files, resolve
    from schemactl.store.folder import SchemasFolder, list_names

    stated = (ctx.params, ctx.find_root().params)
    try:
        surroundings = Surroundings(os.environ, find_files(Path.cwd()))
        options = resolve(CommonOptions, ctx.info_name or "", stated, surroundings)
    except InputError:
        # The command reports it; not while somebody types.
        return []
    folder = SchemasFolder.at(Path(options.schemas))
    return beginning(incomplete, sorted({*list_names(folder.imports), *list_names(folder.exports)}))
