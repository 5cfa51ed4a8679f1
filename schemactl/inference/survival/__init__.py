"""What of the data survives a column's new type, value by value, and class by class of evidence.

``values`` judges one value, ``classes`` all values of a class, ``columns`` a column's values, and ``absences`` counts
the rows that have none. A value survives where dlt coerces it into the type (docs/dlt.md §6.3), the type has room for
it, and nothing of it is lost: dlt itself checks no value against a precision or a scale (docs/dlt.md §6.4), and takes
some with loss.
"""
