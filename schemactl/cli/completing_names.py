"""What shells offer where a schema is asked for: those of the folder that the call or its settings name."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from schemactl.cli.completing import beginning
from schemactl.errors import InputError


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
        # The command will tell it; while somebody types is no time to.
        return []
    folder = SchemasFolder.at(Path(options.schemas))
    return beginning(incomplete, sorted({*list_names(folder.imports), *list_names(folder.exports)}))
