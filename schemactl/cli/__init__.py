"""The command line: parses arguments and settings, calls a flow, and prints the rendered result."""

import gc

# A command makes objects and ends: to look for garbage at every 700 of them took 7 ms of each, and found none.
gc.set_threshold(100_000, 10, 10)
