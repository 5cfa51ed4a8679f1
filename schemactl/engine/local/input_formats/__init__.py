"""Readers of input formats on this machine, one module each, named as users name the format."""
