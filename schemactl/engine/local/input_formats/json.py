"""JSON files of one document each: an object is one record, a list has a record for each element."""

from functools import partial

from schemactl.engine.local.input_formats._files import read_documents
from schemactl.kernel.files import Form

read = partial(read_documents, Form.ELEMENTS)
