"""Runs the command line as ``python -m schemactl``."""

from schemactl.cli.app import main

if __name__ == "__main__":
    main()
