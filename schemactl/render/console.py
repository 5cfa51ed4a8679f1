"""Prints reports on a terminal: the look that was asked for, and the parts that all reports share."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.styled import Styled
from rich.text import Text

from schemactl.errors import LOG_COMMANDS
from schemactl.render.escaping import escape, show_name
from schemactl.schema.wording import counted

Item = TypeVar("Item")

UNLIMITED_WIDTH = 1_000_000
MOST_ALIKE: Final = 50
"""Lines of one kind that are printed one by one, unless all the evidence is asked for."""
WARNING = "yellow"
ERROR, FAINT, NAME = "bold red", "dim", "bold"
"""Styles: of warnings, errors, explanations and names."""


@dataclass(frozen=True, slots=True)
class Look:
    """The form in which a report is printed.

    Attributes:
        width: columns; None leaves every line whole, for other programs to read.
        is_quiet: only what needs attention is printed.
        is_verbose: all the evidence of a column is printed.
    """

    width: int | None = None
    color: bool = False
    is_quiet: bool = False
    is_verbose: bool = False


def print_sections(sections: Iterable[Sequence[RenderableType]], look: Look) -> str:
    """Return the sections that are not empty as text, with an empty line between them."""
    buffer = io.StringIO()
    console = _Console(
        file=buffer,
        width=look.width or UNLIMITED_WIDTH,
        force_terminal=look.color,
        force_jupyter=False,  # rich would display the text in the notebook, and leave the buffer empty
        color_system="standard" if look.color else None,
        no_color=not look.color,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    for number, section in enumerate(section for section in sections if section):
        if number:
            console.print()
        console.print(Group(*section))
    return "".join(_shown(line) + "\n" for line in buffer.getvalue().splitlines())


class _Console(Console):
    """A console that wraps no label of a tree that fits on its line: of 10,000 labels, wrapping is most of the time."""

    def render_lines(
        self, renderable: RenderableType, options: ConsoleOptions | None = None, *, pad: bool = True, **more: Any
    ) -> list[list[Segment]]:
        if options is not None and not pad and not more and isinstance(renderable, Styled) and not renderable.style:
            text = renderable.renderable
            is_plain = isinstance(text, Text) and text.justify is None and text.plain.isprintable()
            if is_plain and isinstance(text, Text) and text.cell_len <= options.max_width:
                return [[*text.render(self)]]
        return super().render_lines(renderable, options, pad=pad, **more)


def print_line(text: str, look: Look, style: str = "") -> str:
    """Return one line as text."""
    return print_sections([[Text(text, style=style)]], look)


def _shown(line: str) -> str:
    """Return a line for printing; a `::` that a line break has put in front is escaped, since CI systems run it."""
    text = line.lstrip()
    return (f"{line[: len(line) - len(text)]}\\{text}" if text.startswith(LOG_COMMANDS) else line).rstrip()


def warning(word: str, message: str, style: str = WARNING) -> Text:
    """Return a line that begins with a styled word."""
    return Text().append(word, style=style).append(f": {message}")


def named(name: str, message: str) -> Text:
    """Return a line about something that has a name."""
    return warning(show_name(name), message, NAME)


def indented(line: Text) -> Padding:
    """Return a line indented by two columns, also after it wraps."""
    return Padding(line, (0, 0, 0, 2), expand=False)


def first_lines(items: Sequence[Item], show: Callable[[Item], Text], look: Look, thing: str) -> Iterator[Text]:
    """Yield a line for each of the first items, and one on how many more there are."""
    first_items = items if look.is_verbose else items[:MOST_ALIKE]
    yield from map(show, first_items)
    if len(first_items) < len(items):
        yield more(len(items) - len(first_items), thing)


def show_hint(text: str | None) -> Iterator[RenderableType]:
    """Yield a hint below the line that it belongs to, if any."""
    if text:
        yield indented(Text(escape(text), style=FAINT))


def more(number: int, thing: str, which: str = "") -> Text:
    """Return the line that counts the unlisted items."""
    return Text(f"and {counted(number, f'more {thing}')}{which} (--verbose lists all)", style=FAINT)
