"""CSV with tabs."""

from functools import partial

from schemactl.engine.csv_header import SEPARATORS
from schemactl.engine.local.input_formats import csv

read = partial(csv.read, separator=SEPARATORS["tsv"])
