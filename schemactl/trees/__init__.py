"""Parses JSON and YAML, within bounds of size and depth, into trees whose nodes know their place in the text."""
