"""How texts become values of a type, as Arc's schema format states it (docs/arc.md).

``model`` has the fields of a typing; ``date_patterns`` reads Java's patterns of dates and times, ``regexes`` its
regular expressions, ``characters`` the sets of characters in them, ``zones`` its time zones.
"""
