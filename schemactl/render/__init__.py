"""Turns results into text: one module per output format, each a function from a report to a string.

What comes from data passes through `schemactl.render.escaping` first, so that no value can steer a terminal.
"""
