"""Java's regular expressions in Python's: translated where both can say the same, refused where only Java can."""

from __future__ import annotations

import re
from typing import Final

from schemactl.arc import characters
from schemactl.arc.characters import (
    ASCII,
    BLANKS,
    LINE_ENDS,
    WORD,
    Characters,
    category,
    negation,
    union,
    written,
)

_ENDS: Final = "\\n\\r\\u0085\\u2028\\u2029"
_DOT: Final = f"[^{_ENDS}]"
_END: Final = f"(?!(?<=\\r)\\n)(?=(?:\\r\\n|[{_ENDS}])?\\Z)"
_LINE_START: Final = f"(?:\\A|(?<=[{_ENDS}])(?!(?<=\\r)\\n)(?!\\Z))"
_LINE_END: Final = f"(?:(?=[{_ENDS}])(?!(?<=\\r)\\n)|\\Z)"
_PLACES: Final = {".": ("s", _DOT, "(?s:.)"), "^": ("m", "\\A", _LINE_START), "$": ("m", _END, _LINE_END)}
"""The flag that changes what a letter means, and both meanings, without it and with it."""

_LINE_BREAK: Final = f"(?:\\r\\n|{written(LINE_ENDS)})"
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_CLASSES: Final = {"d": ASCII["Digit"], "w": WORD, "s": ASCII["Space"], "h": BLANKS, "v": LINE_ENDS}
_HINT: Final = "write it in another way"


class RegexError(ValueError):
    """A regular expression is wrong, or only Java knows what it means."""


def translate(regex: str) -> re.Pattern[str]:
    """Return Python's expression that fully matches (``fullmatch``) what Java's ``matches`` does, as of Java 17.

    Raises:
        RegexError: Java refuses it, with Java's words where they are known; or Python cannot match as Java does.
    """
    text = _Translator(regex).translate()
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise RegexError(f"{error.msg[:1].upper()}{error.msg[1:]}\n{regex}") from error


def _unquote(regex: str) -> str:
    r"""Return an expression with the texts between ``\Q`` and ``\E`` as escapes."""

    def escape(found: re.Match[str]) -> str:
        quoted = found[1]
        return found[0] if quoted is None else re.sub(r"[^\w\s]", r"\\\g<0>", quoted, flags=re.ASCII)

    return re.sub(r"\\Q(.*?)(?:\\E|\Z)|\\.", escape, regex, flags=re.DOTALL)


class _Translator:
    def __init__(self, regex: str) -> None:
        self._stated = regex
        self._regex = _unquote(regex)
        self._at = 0
        self._flags = frozenset[str]()
        self._around: list[frozenset[str]] = []
        """The flags around the groups that are open."""

    def translate(self) -> str:
        made: list[str] = []
        while self._at < len(self._regex):
            made.append(self._next())
        return "".join(made)

    def _next(self) -> str:
        letter = self._regex[self._at]
        if letter == "\\":
            return self._escape()
        self._at += 1
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
                return "(" + self._group() if self._regex.startswith("?", self._at) else "("
            case ")":
                if self._around:
                    self._flags = self._around.pop()
                return ")"
            case "{":
                if re.compile(r"\d+(,\d*)?\}", re.ASCII).match(self._regex, self._at) is None:
                    raise RegexError(f"Illegal repetition\n{self._stated}")
                return "{"
        return self._literal(letter)

    def _literal(self, letter: str) -> str:
        if "i" in self._flags and letter.isascii() and letter.isalpha():
            return f"[{letter.lower()}{letter.upper()}]"
        return re.escape(letter)

    def _group(self) -> str:
        """Return what follows the parenthesis of a group that is no plain one."""
        rest = self._regex[self._at :]
        flags = re.match(r"\?([ims]*)(?:-([ims]+))?([:)])", rest)
        if flags:
            self._at += flags.end()
            self._flags = (self._flags | set(flags[1])) - set(flags[2] or "")
            if flags[3] == ")":
                # They hold to the end of the group around them.
                self._around.pop()
                follows = self._regex[self._at : self._at + 1]
                if follows in tuple("*+?{"):
                    message = f"Dangling meta character '{follows}' near index {self._at}"
                    raise RegexError(f"{message}\n{self._stated}\n{' ' * self._at}^")
                return "?:)"
            return "?:"
        for known in ("?=", "?!", "?>", "?<=", "?<!"):
            if rest.startswith(known):
                self._at += len(known)
                return known
        named = re.match(r"\?<([a-zA-Z][a-zA-Z0-9]*)>", rest)
        if named is None:
            raise self._unknown(f"({rest[:2]}")
        self._at += named.end()
        return f"?P<{named[1]}>"

    def _escape(self) -> str:
        """Return what an escape outside of classes means."""
        letter = self._regex[self._at + 1 : self._at + 2]
        if letter in tuple("123456789"):
            self._at += 2
            if self._regex[self._at : self._at + 1].isdigit():
                hint = "a name, `\\k<name>`, says which group is meant"
                raise self._unknown(f"\\{letter}{self._regex[self._at]}", hint)
            return f"(?i:\\{letter})" if "i" in self._flags else f"\\{letter}"
        known = {"A": "\\A", "z": "\\Z", "Z": _END, "R": _LINE_BREAK}
        if letter in known or letter in ("b", "B"):
            self._at += 2
            if self._regex.startswith("{", self._at):
                raise self._unknown(f"\\{letter}{{")
            return known.get(letter) or _boundary(is_one=letter == "b")
        if letter == "k" and (named := re.compile(r"<(\w+)>").match(self._regex, self._at + 2)):
            self._at = named.end()
            return f"(?i:(?P={named[1]}))" if "i" in self._flags else f"(?P={named[1]})"
        stated = self._escaped_class()
        return self._literal(self._escaped_letter()) if stated is None else written(stated)

    def _escaped_class(self) -> Characters | None:
        """Return the set that an escape stands for; None, at the same place, where it is a single character."""
        letter = self._regex[self._at + 1 : self._at + 2]
        if letter.lower() == "p":
            found = re.compile(r"\{([^}]*)\}|(.)").match(self._regex, self._at + 2)
            name = (found[1] or found[2] or "") if found else ""
            known = characters.property_of(name, is_any_case="i" in self._flags)
            if found is None or known is None:
                hint = "`\\p{L}` are letters, `\\p{M}` marks" if "lpha" in name else _HINT
                raise self._unknown(f"\\{letter}{found[0] if found else ''}", hint)
            self._at = found.end()
            return known if letter == "p" else negation(known)
        if letter.lower() not in _CLASSES or not letter:
            return None
        self._at += 2
        return _CLASSES[letter] if letter.islower() else negation(_CLASSES[letter.lower()])

    def _escaped_letter(self) -> str:
        """Return the character that an escape stands for."""
        letter = self._regex[self._at + 1 : self._at + 2]
        if letter and not (letter.isascii() and letter.isalnum()):
            self._at += 2
            return letter
        if letter in _CONTROLS:
            self._at += 2
            return _CONTROLS[letter]
        high = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE).match(self._regex, self._at)
        if high is not None:
            self._at = high.end()
            return bytes.fromhex(high[1] + high[2]).decode("utf-16-be")
        code = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|0([0-3]?[0-7]{1,2}))")
        found = code.match(self._regex, self._at)
        number = int(found[found.lastindex or 0], 8 if found[4] else 16) if found else -1
        if found is None or 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
            raise self._unknown(f"\\{letter}")
        self._at = found.end()
        return chr(number)

    def _class(self) -> Characters:
        """Return the characters of a class; it begins after its bracket, and ends after the one that closes it."""
        is_negated = self._regex.startswith("^", self._at)
        self._at += is_negated
        start = self._at
        made: Characters | None = None
        while True:
            operand, is_mixed = self._operand(start)
            made = operand if made is None else characters.intersection(made, operand)
            if self._regex.startswith("]", self._at):
                self._at += 1
                return negation(made) if is_negated else made
            if is_mixed and start != self._at:
                raise self._unknown(self._regex[start : self._at + 2])
            self._at += 2

    def _operand(self, start: int) -> tuple[Characters, bool]:
        """Return the characters up to ``&&`` or the end of a class, and whether others follow a class among them.

        Java then takes those for one operand.
        """
        parts: list[Characters] = []
        begin, has_class, is_mixed = self._at, False, False
        while True:
            letter = self._regex[self._at : self._at + 1]
            if not letter:
                # Java's words, the caret below the last character.
                last = len(self._stated) - 1
                raise RegexError(f"Unclosed character class near index {last}\n{self._stated}\n{' ' * last}^")
            if (letter == "]" and self._at > start) or self._regex.startswith("&&", self._at):
                if self._at == begin or self._regex.startswith("&&&", self._at):
                    raise self._unknown(self._regex[start : self._at + 2])
                return union(*parts), is_mixed and begin > start
            if letter == "[":
                self._at += 1
                has_class = True
                parts.append(self._class())
            else:
                is_mixed |= has_class
                parts.append(self._range())

    def _range(self) -> Characters:
        """Return the characters of an escape, of a range, or the one that stands here."""
        if self._regex.startswith("\\", self._at):
            stated = self._escaped_class()
            if stated is not None:
                return stated
        low = self._single()
        high = low
        if re.compile(r"-[^\[\]]").match(self._regex, self._at):
            self._at += 1
            high = self._single()
            if high < low:
                raise RegexError(f"Illegal character range near index {self._at - 1}\n{self._stated}")
        made = ((low, high),)
        return characters.both_cases(made) if "i" in self._flags else made

    def _single(self) -> int:
        if self._regex.startswith("\\", self._at):
            return ord(self._escaped_letter())
        self._at += 1
        return ord(self._regex[self._at - 1])

    def _unknown(self, what: str, hint: str = _HINT) -> RegexError:
        return RegexError(f"`{what}` in `{self._stated}` means something only to Java: {hint}")


def _boundary(*, is_one: bool) -> str:
    """Return an expression for the begin or the end of a word, or for any other place.

    Words are made of letters, digits and ``_`` of all scripts, as in Java before 19, and of marks that follow them. (Of
    two marks that follow no letter the second is taken for a part of a word, as Python looks back one character.)
    """
    marks = category("Mn") or ()
    letters = union(category("L") or (), category("Nd") or ())
    other, mark, base = written(letters), written(marks), written(union(letters, marks))
    # ASCII goes first: the other sets are large.
    before = f"(?:(?<=\\w)|(?<=[^\\x00-\\x7f])(?:(?<={other})|(?<={base}{mark})))"
    after = f"(?:(?=\\w)|(?=[^\\x00-\\x7f])(?:(?={other})|(?={mark})(?<={base})))"
    if is_one:
        return f"(?:{before}(?!{after})|(?!{before}){after})"
    return f"(?:{before}{after}|(?!{before})(?!{after}))"
