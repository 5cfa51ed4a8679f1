"""The subcommands, one module each; the module's name is the command's.

To add one, add ``NAME.py`` with

- a docstring: its first line is the command's help in the list, all of it the command's own help;
- ``Options``: a dataclass that extends `schemactl.cli.options.CommonOptions`; its fields are the arguments;
- ``run(options: Options, terminal: Terminal) -> ExitCode``.

Every module here is imported to list the commands: what is heavy is imported inside ``run``.
"""
