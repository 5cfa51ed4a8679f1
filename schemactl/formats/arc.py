"""Arc's schema files as a format: ``schemactl.arc`` lies above the formats, and reads and writes them."""

from schemactl.arc.format import ENDINGS as ENDINGS
from schemactl.arc.format import STATES_NAMES as STATES_NAMES
from schemactl.arc.format import read as read
from schemactl.arc.format import recognises as recognises
from schemactl.arc.format import write as write
