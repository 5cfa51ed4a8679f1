"""Arc's schema format, which ``schemactl.arc.schema_file`` reads and writes."""

from schemactl.arc.schema_file import ENDINGS as ENDINGS
from schemactl.arc.schema_file import STATES_NAMES as STATES_NAMES
from schemactl.arc.schema_file import read as read
from schemactl.arc.schema_file import recognises as recognises
from schemactl.arc.schema_file import write as write
