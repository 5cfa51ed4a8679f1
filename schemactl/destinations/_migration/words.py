"""What a conversion of values is made of, and how databases say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from schemactl.destinations._migration.conversion import FALSE as FALSE
from schemactl.destinations._migration.conversion import TRUE as TRUE
from schemactl.destinations._migration.conversion import Retype as Retype
from schemactl.schema.types import Column


@dataclass(frozen=True, slots=True)
class Converted:
    """A conversion in SQL; all of it speaks of a value that is not null.

    Attributes:
        form: a condition that holds where ``check`` and ``value`` can be asked for without an error.
        check: a condition that holds where the value survives.
        value: the value in the new type.
        usual: a condition that the usual spellings meet, all of which survive, and that is quicker to ask; it holds for
            no value that is not trusted, where anything is.
        trusted: a condition, quicker still, under which ``quick`` fails rather than gives another value than dlt;
            it fails for no value that ``fits``.
        quick: the value in the new type where ``usual`` or ``trusted`` holds; null of a null.
        plain: a condition under which ``quick`` is right for a value that survives.
        anew: the text of a value that is not of the form, from which dlt's coercion reads it; null where it refuses
            the value; empty where there is no such text.
        anew_value: the value in the new type, of ``anew``.
    """

    form: str
    check: str
    value: str
    usual: str = FALSE
    trusted: str = FALSE
    quick: str = ""
    plain: str = FALSE
    anew: str = ""
    anew_value: str = ""

    @property
    def first(self) -> str:
        """The condition that is asked first where values are converted: ``quick`` is right, or fails.

        It does not fail where a text of which the cast fails may be spelled anew.
        """
        return self.usual if self.anew or self.trusted == FALSE else self.trusted

    @property
    def goes_well(self) -> str:
        """The condition that a value survives, and ``quick`` is right."""
        rest = self.holds if self.plain == TRUE else FALSE
        if FALSE not in (self.plain, self.holds) and self.plain != TRUE:
            rest = where(self.holds, self.plain)
        return rest if self.usual == FALSE else f"(CASE WHEN {self.usual} THEN TRUE ELSE {rest} END)"

    @property
    def fits(self) -> str:
        """The condition that a value survives."""
        taken = self.holds
        if self.anew:
            taken = f"(CASE WHEN {self.holds} THEN TRUE ELSE {self.anew} IS NOT NULL END)"
        return taken if self.usual == FALSE else f"(CASE WHEN {self.usual} THEN TRUE ELSE {taken} END)"

    @property
    def holds(self) -> str:
        """The condition that ``value`` is right; databases do not promise to ask for parts of an AND in their order."""
        if FALSE in (self.form, self.check):
            return FALSE
        if self.form == self.check == TRUE:
            return TRUE
        if self.form == TRUE or self.check == TRUE:
            return f"({self.check if self.form == TRUE else self.form})"
        return f"(CASE WHEN {self.form} THEN {self.check} ELSE FALSE END)"

    def or_else(self, refusal: str) -> str:
        """Return the value in the new type, ``refusal`` where it does not survive."""
        rest = f"coalesce({self.anew_value}, {refusal})" if self.anew else refusal
        return f"CASE WHEN {self.holds} THEN {self.value} ELSE {rest} END"


class Words(Protocol):
    """How one database says things; all arguments and results are expressions."""

    @property
    def wide(self) -> str:
        """The type of integers of 37 digits."""
        ...

    @property
    def double(self) -> str:
        """The type of floating-point numbers of 64 bits."""
        ...

    @property
    def text(self) -> str:
        """The type of texts."""
        ...

    def type_of(self, column: Column) -> str:
        """Return a column's type."""
        ...

    def matches(self, text: str, regex: str) -> str:
        """Return whether the whole text is of a form."""
        ...

    def is_usual_integer(self, text: str, kind: str, digits: int) -> str:
        """Return whether a text is an integer in its usual spelling that a type of so many digits surely holds."""
        ...

    def is_trusted_integer(self, text: str) -> str:
        """Return a condition under which a cast to an integer gives what Python does, or fails."""
        ...

    def is_usual_real(self, text: str) -> str:
        """Return whether a text is a number in a usual spelling that ``double`` surely holds."""
        ...

    def is_trusted_real(self, text: str) -> str:
        """Return a condition under which a cast to ``double`` gives what Python does, or fails."""
        ...

    def is_trusted_decimal(self, text: str, scale: int) -> str:
        """Return a condition under which a cast to a decimal gives what Python does without rounding, or fails."""
        ...

    def is_trusted_bool(self, text: str) -> str:
        """Return a condition under which a cast to a bool gives what dlt does, or fails."""
        ...

    def is_trusted_date(self, text: str) -> str:
        """Return a condition under which a cast to a date gives what dlt does, or fails; holds for ``2024-05-06``."""
        ...

    def is_trusted_time(self, text: str) -> str:
        """Return a condition under which a cast to a time gives what dlt does, or fails; holds for ``10:11:12``."""
        ...

    def is_trusted_moment(self, text: str) -> str:
        """Return a condition under which a cast to a timestamp gives what dlt does, or fails.

        It holds for ``2024-05-06T10:11:12Z`` with or without a fraction.
        """
        ...

    def is_readable(self, text: str, kind: str) -> str:
        """Return whether a cast of a trusted text does not fail, where the database can tell at little cost."""
        ...

    def spelled_anew(self, text: str, retype: str) -> str | None:
        """Return a text as ``coercing.spelled_anew`` spells it; None where no text is known that is to be spelled so.

        Args:
            text: not null.
            retype: from what to what, as ``coercing.write_retype`` writes it.
        """
        ...

    def trim(self, text: str) -> str:
        """Return a text without the white space of ASCII around it."""
        ...

    def hexadecimal(self, text: str) -> str:
        """Return the integer of ``0x`` and up to 15 digits."""
        ...

    def unhex(self, text: str) -> str: ...

    def from_base64(self, text: str) -> str: ...

    def to_base64(self, binary: str) -> str: ...

    def to_little_endian(self, number: str) -> str:
        """Return the bytes of a number that is not negative, the lowest first, without zeros at the end."""
        ...

    def is_json(self, text: str) -> str:
        """Return whether a text is JSON that dlt and the database read as the same value, and not ``null``."""
        ...

    def to_json(self, text: str) -> str: ...

    def json_text(self, value: str) -> str:
        """Return JSON as text without blanks between its parts."""
        ...

    def has_texts(self, kind: str) -> bool:
        """Return whether each value of a type that dlt does not know has a text of its own; see ``Abilities``."""
        ...

    def other_text(self, value: str, kind: str) -> str:
        """Return the text of a value of such a type."""
        ...

    def is_other_text(self, text: str, kind: str) -> str:
        """Return whether a text is the very one that a value of such a type has."""
        ...

    def double_text(self, number: str) -> str:
        """Return a number as Python writes it: the fewest digits, ``1.0``, ``1e+16``, ``inf``, ``nan``."""
        ...

    def is_python_text(self, number: str) -> str:
        """Return whether ``double_text`` is what Python writes."""
        ...

    def moment_text(self, naive: str) -> str:
        """Return a timestamp without a zone in ISO 8601, with six digits of a second or none."""
        ...

    def seconds(self, number: str, is_double: bool) -> str:
        """Return the timestamp without a zone, in UTC, of seconds since 1970."""
        ...

    def try_cast(self, value: str, kind: str) -> str:
        """Return the value in a type; null where it is beyond it, where the database knows such a cast."""
        ...

    def is_exact(self, number: str, text: str, kind: str) -> str:
        """Return whether a text, as ``double_text`` gives it, is the same number as one of a decimal type."""
        ...

    def fits_decimal(self, number: str, precision: int, scale: int) -> str:
        """Return whether a decimal, or the text of one, is in range once it is rounded to a scale."""
        ...

    def refuse(self, value: str, kind: str) -> str:
        """Return an expression of a type that fails, with the value in its message."""
        ...


Maker = Callable[[Retype, str, Words], Converted]
"""Returns how a value is converted, by what is converted and the expression of the value."""


def by_cast(form: str, check: str, value: str, trusted: str = FALSE, readable: str = FALSE) -> Converted:
    """Return a conversion whose value alone is right for all that survive, and null of a null.

    Args:
        form: see ``Converted``.
        check: see ``Converted``.
        value: see ``Converted``.
        trusted: see ``Converted``; it is left out where there is something to check.
        readable: whether ``value`` does not fail where ``trusted`` holds.
    """
    if check != TRUE or trusted == FALSE:
        return Converted(form, check, value, quick=value, plain=TRUE)
    usual = trusted_and_readable(trusted, readable)
    return Converted(form, check, value, usual, trusted, value, plain=TRUE)


def trusted_and_readable(trusted: str, readable: str) -> str:
    """Return the condition that a value survives because it is trusted and its cast does not fail."""
    if FALSE in (trusted, readable):
        return FALSE
    return f"({' AND '.join(each for each in (trusted, readable) if each != TRUE) or TRUE})"


def conjoin(*conditions: str) -> str:
    """Return whether all conditions hold."""
    told = [each for each in conditions if each != TRUE]
    return " AND ".join(f"({each})" for each in told) if told else TRUE


def where(guard: str, condition: str) -> str:
    """Return whether both hold; the condition is only asked for where the guard holds."""
    return guard if condition == TRUE else f"CASE WHEN {guard} THEN {condition} ELSE FALSE END"


def is_short(retype: Retype, value: str, measure: str) -> str:
    """Return whether a value is not longer than the new column, where that states a length."""
    limit = retype.after.properties.get("precision")
    return TRUE if limit is None else f"{measure}({value}) <= {int(limit)}"
