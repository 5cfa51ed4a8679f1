"""The kinds of sources of readers, one module each; see `readers`."""
