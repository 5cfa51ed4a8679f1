"""Lines of JSON (NDJSON, JSON Lines): one document a line."""

from functools import partial

from schemactl.engine.local.input_formats._files import read_documents
from schemactl.kernel.files import Form

read = partial(read_documents, Form.LINES)
