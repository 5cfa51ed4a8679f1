"""Translates Java's regular expressions to Python's, and refuses expressions that Python cannot match as Java does."""

from __future__ import annotations

import re
from typing import Final

from schemactl.arc import characters
from schemactl.arc.characters import ASCII, BLANKS, LINE_ENDS, WORD, Characters, category, negation, union, written

_ENDS: Final = "\\n\\r\\u0085\\u2028\\u2029"
_DOT: Final = f"[^{_ENDS}]"
_END: Final = f"(?!(?<=\\r)\\n)(?=(?:\\r\\n|[{_ENDS}])?\\Z)"
_LINE_START: Final = f"(?:\\A|(?<=[{_ENDS}])(?!(?<=\\r)\\n)(?!\\Z))"
_LINE_END: Final = f"(?:(?=[{_ENDS}])(?!(?<=\\r)\\n)|\\Z)"
_PLACES: Final = {".": ("s", _DOT, "(?s:.)"), "^": ("m", "\\A", _LINE_START), "$": ("m", _END, _LINE_END)}
"""The flag that changes a letter's meaning, and both meanings, without it and with it."""

_LINE_BREAK: Final = f"(?:\\r\\n|{written(LINE_ENDS)})"
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_CLASSES: Final = {"d": ASCII["Digit"], "w": WORD, "s": ASCII["Space"], "h": BLANKS, "v": LINE_ENDS}
_HINT: Final = "write it in another way"


class RegexError(ValueError):
    """A regular expression is wrong, or Python cannot match as Java does."""


def translate(regex: str) -> re.Pattern[str]:
    """Return Python's expression whose ``fullmatch`` equals Java's ``matches``, as of Java 17.

    Raises:
        RegexError: Java refuses it, mostly in Java's words; or Python cannot match as Java does.
    """
    text = _Translator(regex).translate()
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise RegexError(f"{error.msg[:1].upper()}{error.msg[1:]}\n{regex}") from error


def _unquote(regex: str) -> str:
    r"""Return an expression with the texts between ``\Q`` and ``\E`` as escapes."""

    def escape(match: re.Match[str]) -> str:
        quoted = match[1]
        return match[0] if quoted is None else re.sub(r"[^\w\s]", r"\\\g<0>", quoted, flags=re.ASCII)

    return re.sub(r"\\Q(.*?)(?:\\E|\Z)|\\.", escape, regex, flags=re.DOTALL)


class _Translator:
    def __init__(self, regex: str) -> None:
        self._source = regex
        self._regex = _unquote(regex)
        self._position = 0
        self._flags = frozenset[str]()
        self._around: list[frozenset[str]] = []
        """The flags around the groups that are open."""

    def translate(self) -> str:
        translated: list[str] = []
        while self._position < len(self._regex):
            translated.append(self._next())
        return "".join(translated)

    def _next(self) -> str:
        letter = self._regex[self._position]
        if letter == "\\":
            return self._escape()
        self._position += 1
        if letter in ".^$":
            flag, otherwise, flagged = _PLACES[letter]
            return flagged if flag in self._flags else otherwise
        if letter in "|*+?}":
            return letter
        match letter:
            case "[":
                return written(self._class())
            case "(":
                self._around.append(self._flags)
                return "(" + self._group() if self._regex.startswith("?", self._position) else "("
            case ")":
                if self._around:
                    self._flags = self._around.pop()
                return ")"
            case "{":
                if self._match(r"\d+(,\d*)?\}", re.ASCII) is None:
                    raise RegexError(f"Illegal repetition\n{self._source}")
                return "{"
        return self._literal(letter)

    def _literal(self, letter: str) -> str:
        if "i" in self._flags and letter.isascii() and letter.isalpha():
            return f"[{letter.lower()}{letter.upper()}]"
        return re.escape(letter)

    def _group(self) -> str:
        """Return the text after the parenthesis of a group that is not a plain one."""
        flags = self._match(r"\?([ims]*)(?:-([ims]+))?([:)])")
        if flags:
            self._position = flags.end()
            self._flags = (self._flags | set(flags[1])) - set(flags[2] or "")
            if flags[3] == ")":
                # They hold to the end of the group around them.
                self._around.pop()
                follows = self._regex[self._position : self._position + 1]
                if follows in tuple("*+?{"):
                    message = f"Dangling meta character '{follows}' near index {self._position}"
                    raise RegexError(f"{message}\n{self._source}\n{' ' * self._position}^")
                return "?:)"
            return "?:"
        if look_around := self._match(r"\?(?:[=!>]|<[=!])"):
            self._position = look_around.end()
            return look_around[0]
        group_name = self._match(r"\?<([a-zA-Z][a-zA-Z0-9]*)>")
        if group_name is None:
            raise self._unknown(f"({self._regex[self._position : self._position + 2]}")
        self._position = group_name.end()
        return f"?P<{group_name[1]}>"

    def _escape(self) -> str:
        """Return the translation of an escape outside of classes."""
        letter = self._regex[self._position + 1 : self._position + 2]
        if letter in tuple("123456789"):
            self._position += 2
            if self._regex[self._position : self._position + 1].isdigit():
                hint = "a name, `\\k<name>`, says which group is meant"
                raise self._unknown(f"\\{letter}{self._regex[self._position]}", hint)
            return f"(?i:\\{letter})" if "i" in self._flags else f"\\{letter}"
        anchors = {"A": "\\A", "z": "\\Z", "Z": _END, "R": _LINE_BREAK}
        if letter in anchors or letter in ("b", "B"):
            self._position += 2
            if self._regex.startswith("{", self._position):
                raise self._unknown(f"\\{letter}{{")
            return anchors.get(letter) or _boundary(is_negated=letter == "B")
        if letter == "k" and (reference := self._match(r"\\k<(\w+)>")):
            self._position = reference.end()
            return f"(?i:(?P={reference[1]}))" if "i" in self._flags else f"(?P={reference[1]})"
        escaped = self._escaped_class()
        return written(escaped) if escaped is not None else self._literal(self._escaped_letter())

    def _escaped_class(self) -> Characters | None:
        """Return the characters of an escaped class; None, at the same position, for a single character."""
        letter = self._regex[self._position + 1 : self._position + 2]
        if letter.lower() == "p":
            braces = self._match(r"\\[pP](\{([^}]*)\}|(.))")
            name = (braces[2] or braces[3] or "") if braces else ""
            having = characters.property_of(name, is_any_case="i" in self._flags)
            if braces is None or having is None:
                hint = "`\\p{L}` are letters, `\\p{M}` marks" if "lpha" in name else _HINT
                raise self._unknown(f"\\{letter}{braces[1] if braces else ''}", hint)
            self._position = braces.end()
            return having if letter == "p" else negation(having)
        if letter.lower() not in _CLASSES or not letter:
            return None
        self._position += 2
        return _CLASSES[letter] if letter.islower() else negation(_CLASSES[letter.lower()])

    def _escaped_letter(self) -> str:
        """Return the character of an escape."""
        letter = self._regex[self._position + 1 : self._position + 2]
        if letter and not (letter.isascii() and letter.isalnum()):
            self._position += 2
            return letter
        if letter in _CONTROLS:
            self._position += 2
            return _CONTROLS[letter]
        surrogates = self._match(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
        if surrogates is not None:
            self._position = surrogates.end()
            return bytes.fromhex(surrogates[1] + surrogates[2]).decode("utf-16-be")
        digits = self._match(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|0([0-3]?[0-7]{1,2}))")
        number = int(digits[digits.lastindex or 0], 8 if digits[4] else 16) if digits else -1
        if digits is None or 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
            raise self._unknown(f"\\{letter}")
        self._position = digits.end()
        return chr(number)

    def _class(self) -> Characters:
        """Return the characters of a class, from after its opening bracket to after the closing one."""
        is_negated = self._regex.startswith("^", self._position)
        self._position += is_negated
        start = self._position
        common: Characters | None = None
        while True:
            operand, is_mixed = self._operand(start)
            common = operand if common is None else characters.intersection(common, operand)
            if self._regex.startswith("]", self._position):
                self._position += 1
                return negation(common) if is_negated else common
            if is_mixed and start != self._position:
                raise self._unknown(self._regex[start : self._position + 2])
            self._position += 2

    def _operand(self, start: int) -> tuple[Characters, bool]:
        """Return the characters up to ``&&`` or the end of a class, and whether some of them follow an inner class.

        Java treats characters after an inner class as a separate operand.
        """
        parts: list[Characters] = []
        begin, has_class, is_mixed = self._position, False, False
        while True:
            letter = self._regex[self._position : self._position + 1]
            if not letter:
                # Java puts the caret below the last character.
                last = len(self._source) - 1
                raise RegexError(f"Unclosed character class near index {last}\n{self._source}\n{' ' * last}^")
            if (letter == "]" and self._position > start) or self._regex.startswith("&&", self._position):
                if self._position == begin or self._regex.startswith("&&&", self._position):
                    raise self._unknown(self._regex[start : self._position + 2])
                return union(*parts), is_mixed and begin > start
            if letter == "[":
                self._position += 1
                has_class = True
                parts.append(self._class())
            else:
                is_mixed |= has_class
                parts.append(self._range())

    def _range(self) -> Characters:
        """Return the characters of an escape, of a range, or the next character."""
        if self._regex.startswith("\\", self._position):
            escaped = self._escaped_class()
            if escaped is not None:
                return escaped
        low = self._single()
        high = low
        if self._match(r"-[^\[\]]"):
            self._position += 1
            high = self._single()
            if high < low:
                raise RegexError(f"Illegal character range near index {self._position - 1}\n{self._source}")
        in_range = ((low, high),)
        return characters.both_cases(in_range) if "i" in self._flags else in_range

    def _single(self) -> int:
        if self._regex.startswith("\\", self._position):
            return ord(self._escaped_letter())
        self._position += 1
        return ord(self._regex[self._position - 1])

    def _match(self, regex: str, flags: int = 0) -> re.Match[str] | None:
        return re.compile(regex, flags).match(self._regex, self._position)

    def _unknown(self, clause: str, hint: str = _HINT) -> RegexError:
        return RegexError(f"`{clause}` in `{self._source}` means something only to Java: {hint}")


def _boundary(*, is_negated: bool) -> str:
    """Return an expression for the begin or the end of a word; negated, for all other places.

    Words have letters, digits and ``_`` of all scripts, as in Java before 19, and marks that follow them. (Of two marks
    that follow no letter the second counts as part of a word, as Python looks back one character.)
    """
    marks = category("Mn") or ()
    letters = union(category("L") or (), category("Nd") or ())
    other, mark, base = written(letters), written(marks), written(union(letters, marks))
    # ASCII goes first: the other sets are large.
    before = f"(?:(?<=\\w)|(?<=[^\\x00-\\x7f])(?:(?<={other})|(?<={base}{mark})))"
    after = f"(?:(?=\\w)|(?=[^\\x00-\\x7f])(?:(?={other})|(?={mark})(?<={base})))"
    if is_negated:
        return f"(?:{before}{after}|(?!{before})(?!{after}))"
    return f"(?:{before}(?!{after})|(?!{before}){after})"
