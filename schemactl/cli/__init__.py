"""The command line: reads arguments and settings, calls a flow, prints what a renderer makes of it."""
