"""Runs the command line as ``python -m schemactl``."""

import os
import sys

# Python searches the working folder for modules first. There, a `yaml.py` or an entry point is a file of a stranger's
# pull request, not a part of schemactl.
if sys.path and not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - pathlib may lie there
    del sys.path[0]

from schemactl.cli.app import main

if __name__ == "__main__":
    main()
