"""Plain text: a row for each line, in the column ``value``."""

from functools import partial

from schemactl.engine.local.input_formats._files import read_documents
from schemactl.kernel.files import Form

read = partial(read_documents, Form.TEXTS)
