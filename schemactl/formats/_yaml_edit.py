"""Edit YAML that the user formatted, with ruamel.yaml.

The text becomes ruamel.yaml's nodes, the nodes are edited in place, and the nodes before and after are written. A line
merge applies the difference to the person's text: lines that the edit does not change keep even odd spacing, which
ruamel.yaml itself would normalize. Unchanged blocks are left out meanwhile.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from io import StringIO
from itertools import chain
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.anchor import Anchor
from ruamel.yaml.error import CommentMark, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode
from ruamel.yaml.tokens import CommentToken

from schemactl.formats._least_edit import paired_items
from schemactl.formats._line_merge import ConflictError, merge_lines
from schemactl.formats._yaml_writer import yaml_part
from schemactl.trees import nodes as tree
from schemactl.trees.nodes import Keys, Node, Source, fields_of, same, value_of
from schemactl.trees.yaml_scalars import MERGE
from schemactl.trees.yaml_text import parse_yaml

_ENDLESS = 1 << 30
_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_COMMENT_BEHIND = re.compile(r"\s+#.*")
_NO_CONTENT = re.compile(r"\s*(?:#.*)?")
_MARK = "schemactl-left-out-"
_MARKED = re.compile(rf" {_MARK}(\d+)([^\n]*\n)")
_KEY_LINE = re.compile(r"""((?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^"'#&*!?\[{\s][^#]*?)\s*:)([ \t]*(?:[ \t]\#.*)?\r?)""")
_BETWEEN = re.compile(r"\s*(?:#.*|\.\.\.|---)?\s*")
_NAMED = re.compile(r"(?:^|[\s\[{,])[&*]\S")


def edits(text: str, root: Node, new_value: Any, renamed: Mapping[Keys, str]) -> Iterator[str]:
    """Yield the text of a tree with another value: with its aliases, then with their targets in place of them.

    New keys come in the order of ``new_value``; ``renamed`` has the keys with other names there, by the path to the old
    ones. It skips texts that ruamel.yaml cannot read, or whose comments it would not keep.
    """
    cutter = _Cutter(text, renamed)
    if _MARK not in text and isinstance(root, tree.Mapping):
        new_value = cutter.visit(root, new_value, (), len(text))
    shortened = "".join((*cutter.parts, text[cutter.done :]))
    lines = shortened.removeprefix("\ufeff").replace("\r\n", "\n")
    tree_root, indentation = parse_yaml(Source("", shortened)), _indentation_of(text, root)
    for expands in (False, True):
        with suppress(ConflictError):
            editor = _Editor(lines if lines.endswith("\n") else f"{lines}\n", renamed, expands, indentation)
            unedited = editor.written()
            editor.edit(tree_root, new_value)
            edited = merge_lines(unedited, shortened, editor.written())
            yield _MARKED.sub(lambda mark: mark[2] + cutter.left_out[int(mark[1])], edited)


def _indentation_of(text: str, root: Node) -> tuple[int, int]:
    """Return how much deeper than their keys the blocks of a document mostly are: mappings, and the dashes of lists."""
    mappings, dashes = Counter[int](), Counter[int]()
    nodes: list[Node] = [root]
    while nodes:
        node = nodes.pop()
        if isinstance(node, tree.Sequence):
            nodes += node.items
        elif isinstance(node, tree.Mapping):
            for key, value in node.entries:
                nodes.append(value)
                if isinstance(value, tree.Mapping | tree.Sequence) and "\n" in text[key.start : value.start]:
                    columns = [start - text.rfind("\n", 0, start) for start in (key.start, value.start)]
                    (dashes if text[value.start] == "-" else mappings)[columns[1] - columns[0]] += 1
    return mappings.most_common(1)[0][0] if mappings else 2, dashes.most_common(1)[0][0] if dashes else 0


@dataclass(slots=True)
class _Slot:
    """A key or an item of a block, with the comments and blank lines around it.

    Attributes:
        depth: its depth; an item is deeper than the key of its list, whose column its dash may have.
        behind: the comment at the end of its line, with the space before it.
        below: the lines of comments behind its value that are indented deeper than it.
    """

    node: Any
    column: int
    depth: int
    above: list[str]
    behind: str = ""
    below: list[str] = field(default_factory=list)
    is_taken_out: bool = False


class _Editor:
    """A document as ruamel.yaml's nodes, whose comments belong to the keys and items that they are about."""

    def __init__(self, text: str, renamed: Mapping[Keys, str], expands: bool, indentation: tuple[int, int]) -> None:
        self._renamed, self._expands, self._indentation = renamed, expands, indentation
        self._above_renamed = {way[:length] for way in renamed for length in range(len(way))}
        self._yaml = YAML()
        try:
            self._root: Any = self._yaml.compose(text)
        except YAMLError as error:
            raise ConflictError(str(error)) from error
        if self._root.flow_style and "\n" in text.strip():
            raise ConflictError("ruamel.yaml would write all on one line")
        self._is_marked = text.startswith("---")
        self._lines = _LINE_END.split(text)
        self._last_line = -1
        self._seen: set[int] = set()
        self._slots: list[_Slot] = []
        self._visit(self._root)
        self._end = self._handed_on(self._gap(len(self._lines) - 1), -1)
        self._by_node = {id(slot.node): slot for slot in self._slots}

    # Places of comments

    def _visit(self, node: Any) -> None:
        """Note the comments around keys and items."""
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        if node.anchor:
            name, node.anchor = node.anchor, Anchor()
            node.anchor.value, node.anchor.always_dump = name, True
        # Of a block scalar the second is the comment behind `|`.
        node.comment = [None, node.comment[1]] if node.comment and _is_block_scalar(node) else None
        if isinstance(node, ScalarNode) or node.flow_style:
            for child in chain.from_iterable(_entries(node)):
                self._visit(child)
            last_line: int = node.end_mark.line
            if _is_block_scalar(node):  # it ends at the next line with content
                first, end = node.start_mark.line, node.end_mark.line
                while last_line > first and (last_line == end or not self._lines[last_line].strip()):
                    last_line -= 1
            self._last_line = max(self._last_line, last_line)
            return
        for key, value in _entries(node):
            self._open(key, value)
            if key is not value:
                self._visit(key)
            self._visit(value)

    def _open(self, node: Any, value: Any) -> None:
        """Note the comments around a key, or around an item, which is also its ``value``."""
        line = node.start_mark.line
        if node is value and line - 1 > self._last_line and self._lines[line - 1].strip() == "-":
            line -= 1  # the dash is on a separate line
        text = self._lines[line]
        is_first, is_alias = line > self._last_line and id(node) not in self._seen, id(value) in self._seen
        column = _indent(text) if is_first else node.start_mark.column
        depth = column + (node is value)
        slot = _Slot(node, column, depth, self._handed_on(self._gap(line), depth) if is_first else [])
        is_on_line = not (is_alias or _is_block(value) or _is_block_scalar(value))
        if is_on_line or node is not value:
            end = value.end_mark if is_on_line else node.end_mark
            comment = _COMMENT_BEHIND.search(self._lines[end.line], end.column)
            slot.behind = comment[0] if comment else ""
        if is_first:
            self._last_line = line
        self._slots.append(slot)

    def _gap(self, line: int) -> list[str]:
        """Return the lines without content right before a line."""
        start = line
        while start - 1 > self._last_line and _NO_CONTENT.fullmatch(self._lines[start - 1]):
            start -= 1
        return self._lines[start:line]

    def _handed_on(self, gap: list[str], depth: int) -> list[str]:
        """Give comments deeper than the next line to the entry above them, and return the other lines."""
        while comment := next((line for line in gap if line.strip()), None):
            indent = _indent(comment)
            owner = next((slot for slot in reversed(self._slots) if slot.column < indent), None)
            if indent <= depth or owner is None or owner.depth < depth:
                break
            length = gap.index(comment) + 1
            owner.below += gap[:length]
            gap = gap[length:]
        return gap

    # Writing

    def written(self) -> str:
        """Return the document as ruamel.yaml writes it."""
        self._dress(self._root, set())
        if _is_block(self._root):
            self._root.comment = [None, None, _above(self._end)]
        mapping, dash = self._indentation
        yaml, stream = YAML(), StringIO()
        yaml.indent(mapping=mapping, sequence=dash + 2, offset=dash)
        yaml.width = _ENDLESS
        yaml.explicit_start = self._is_marked
        yaml.serialize(self._root, stream)
        return stream.getvalue()

    def _dress(self, node: Any, dressed: set[int]) -> None:
        """Give nodes their comments in ruamel.yaml's form: behind, above, at the end of a block."""
        if id(node) in dressed:
            return
        dressed.add(id(node))
        for key, value in _entries(node):
            slot = self._by_node.get(id(key)) if _is_block(node) else None
            if slot is not None and key is not value:
                key.comment = [None, _above(slot.above)]
            if slot is not None and id(value) not in dressed:  # an alias has no place for a comment
                above = _above(slot.above) if key is value else None
                behind = slot.behind[1:]  # ruamel.yaml writes one space
                if _is_block(value):
                    value.comment = [_token([behind]), above, _above(slot.below)]
                elif _is_block_scalar(value):
                    value.comment = [_token(["", *slot.below]), value.comment[1] if value.comment else None]
                else:
                    value.comment = [_token([behind, *slot.below]), above]
            self._dress(value, dressed)

    # Editing

    def edit(self, root: Node, new_value: Any) -> None:
        """Bring the nodes to a value; ``root`` is their tree."""
        self._root = self._edited(self._root, root, new_value, (), False)
        remaining: set[int] = set()
        _collect(self._root, remaining)
        moved_comments: list[str] = []
        removed_depth: int | None = None
        for slot in self._slots:
            if removed_depth is not None and slot.depth > removed_depth:
                continue
            removed_depth = slot.depth if slot.is_taken_out else None
            if slot.is_taken_out:
                # Only the comment right above is removed with it.
                start = len(slot.above)
                while start and slot.above[start - 1].startswith(" " * slot.column + "#"):
                    start -= 1
                moved_comments += slot.above[:start]
                slot.above = slot.above[start:]
            elif id(slot.node) in remaining:
                slot.above, moved_comments = moved_comments + slot.above, []
        self._end = moved_comments + self._end

    def _edited(self, node: Any, tree_node: Node, new_value: Any, keys: Keys, is_flow: bool) -> Any:
        """Return the node with its new value, or a new node if it cannot be edited."""
        is_same = keys not in self._above_renamed and same(value_of(tree_node), new_value, _always)
        stays = is_same and not (self._expands and isinstance(tree_node, tree.Alias))
        match tree_node:
            case tree.Mapping() if not stays or self._expands:
                stays = isinstance(new_value, dict) and self._edit_mapping(node, tree_node, new_value, keys)
            case tree.Sequence() if not stays or self._expands:
                stays = isinstance(new_value, list) and self._edit_sequence(node, tree_node, new_value, keys)
        if stays:
            return node
        if isinstance(new_value, (dict, list)):
            return self._composed(new_value, is_flow or not new_value)
        return self._yaml.compose(yaml_part(new_value, quote=_quote(node)))

    def _edit_mapping(self, node: Any, tree_node: tree.Mapping, new_value: dict[Any, Any], keys: Keys) -> bool:
        """Edit a mapping in place; return False if no entry stays."""
        pairs = list(node.value)
        positions: dict[Any, int] = {}
        for index, (key, value) in enumerate(tree_node.entries):
            if key.value is MERGE:
                continue
            name = self._renamed.get((*keys, key.value), key.value)
            positions[name] = index
            if name != key.value:
                key_node = pairs[index][0]
                new_key = self._yaml.compose(yaml_part(name, quote=_quote(key_node)))
                key_node.value, key_node.style, key_node.ctag = (new_key.value, new_key.style, new_key.ctag)
            if name in new_value:
                edited = self._edited(pairs[index][1], value, new_value[name], (*keys, key.value), node.flow_style)
                pairs[index] = pairs[index][0], edited
        merged = {} if self._expands else fields_of(tree_node)
        inherited = {key: value_of(value) for key, value in merged.items() if key not in positions}
        new_items = {
            key: value
            for key, value in new_value.items()
            if key not in inherited or not same(inherited[key], value, _always)
        }
        return self._arrange(node, pairs, positions, new_items)

    def _arrange(self, node: Any, pairs: list[Any], positions: dict[Any, int], new_items: dict[Any, Any]) -> bool:
        """Sort the entries of a mapping as ``new_items``; new and moved entries follow their predecessors there.

        ``pairs`` are the nodes of its entries, ``positions`` the index of each key in them; merges stay in their place.
        """
        shared_keys = [key for key in positions if key in new_items]
        order = [key for key in new_items if key in positions]
        # Nodes outside of the longest runs have to move.
        blocks = SequenceMatcher(None, shared_keys, order, autojunk=False).get_matching_blocks()
        moved = set(shared_keys) - {key for block in blocks for key in shared_keys[block.a : block.a + block.size]}
        staying = {positions[key]: key for key in shared_keys if key not in moved}
        merges = set(range(len(pairs))) - set(positions.values())
        if not staying and (self._expands or not merges):
            return False
        following: dict[Any, list[Any]] = {key: [] for key in (None, *staying.values())}
        last_staying = None
        for key, value in new_items.items():
            if key not in positions:
                following[last_staying] += self._composed({key: value}, node.flow_style).value
            elif key in moved:
                following[last_staying].append(pairs[positions[key]])
            else:
                last_staying = key
        leaving = {index for index in positions.values() if index not in staying} | (merges if self._expands else set())
        for index in leaving:
            self._take_out(pairs[index][0])
        node.value = following[None]
        for index, pair in enumerate(pairs):
            if index not in leaving:
                node.value += [pair, *following[staying[index]]] if index in staying else [pair]
        return True

    def _edit_sequence(self, node: Any, tree_node: tree.Sequence, new_items: list[Any], keys: Keys) -> bool:
        """Edit a list in place; return False if no item stays."""
        items = node.value
        pairs = paired_items(value_of(tree_node), new_items)
        staying = {position for position, _ in pairs if position is not None}
        if not staying:
            return False
        node.value = []
        for position, value in pairs:
            if position is None:
                node.value += self._composed([value], node.flow_style).value
                continue
            item = items[position]
            edited = self._edited(item, tree_node.items[position], value, (*keys, position), node.flow_style)
            if edited is not item and (slot := self._by_node.get(id(item))) is not None:
                self._by_node[id(edited)] = slot
                slot.node = edited
            node.value.append(edited)
        for position, item in enumerate(items):
            if position not in staying:
                self._take_out(item)
        return True

    def _take_out(self, node: Any) -> None:
        if (slot := self._by_node.get(id(node))) is not None:
            slot.is_taken_out = True

    def _composed(self, value: Any, is_flow: bool) -> Any:
        return self._yaml.compose(yaml_part(value, is_flow=is_flow))


def _entries(node: Any) -> list[tuple[Any, Any]]:
    """Return keys with their values; an item of a list is both."""
    if isinstance(node, ScalarNode):
        return []
    return node.value if isinstance(node, MappingNode) else [(item, item) for item in node.value]


def _collect(node: Any, nodes: set[int]) -> None:
    """Note all nodes within one."""
    if id(node) not in nodes:
        nodes.add(id(node))
        for child in chain.from_iterable(_entries(node)):
            _collect(child, nodes)


def _is_block(node: Any) -> bool:
    return not isinstance(node, ScalarNode) and not node.flow_style


def _is_block_scalar(node: Any) -> bool:
    return isinstance(node, ScalarNode) and node.style in ("|", ">")


def _quote(node: Any) -> str | None:
    return node.style if isinstance(node, ScalarNode) and node.style in ("'", '"') else None


def _token(lines: list[str]) -> CommentToken | None:
    return CommentToken("".join(f"{line}\n" for line in lines), CommentMark(0), None) if any(lines) else None


def _above(lines: list[str]) -> list[CommentToken] | None:
    return [CommentToken("".join(f"{line}\n" for line in lines), CommentMark(0), None)] if lines else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _always(_keys: Keys) -> bool:
    return True


class _Cutter:
    """Leaves out unchanged parts of a document: ruamel.yaml takes a minute for 30,000 columns."""

    def __init__(self, text: str, renamed: Mapping[Keys, str]) -> None:
        self._text, self._renamed = text, renamed
        self._above_renamed = {way[:length] for way in renamed for length in range(len(way))}
        self.parts: list[str] = []
        self.done = 0
        self.left_out: list[str] = []

    def visit(self, node: tree.Mapping, new_value: dict[Any, Any], keys: Keys, end: int) -> dict[Any, Any]:
        """Leave entries of a block out that ends before a place, and return the wanted value with their marks."""
        if not node.entries or node.entries[0].key.start != node.start:  # in braces
            return new_value
        marked = dict(new_value)
        ends = [*(entry.key.start for entry in node.entries[1:]), end]
        for (key, value), next_start in zip(node.entries, ends, strict=True):
            path = (*keys, key.value)
            name = self._renamed.get(path, key.value)
            if key.value is MERGE or name not in new_value or isinstance(value, tree.Scalar | tree.Alias):
                continue
            if path not in self._above_renamed and same(value_of(value), new_value[name], _always):
                if self._leave_out(key.start, value.start, next_start):
                    marked[name] = f"{_MARK}{len(self.left_out) - 1}"
            elif isinstance(value, tree.Mapping) and isinstance(new_value[name], dict):
                marked[name] = self.visit(value, new_value[name], path, next_start)
        return marked

    def _leave_out(self, key: int, value: int, after: int) -> bool:
        """Leave out the lines between a key and the line after its value, except for comments and blank lines there."""
        text = self._text
        start = text.find("\n", key) + 1
        if not 0 < start <= value or (line := _KEY_LINE.fullmatch(text, key, start - 1)) is None:
            return False
        end = after if after == len(text) else text.rfind("\n", 0, after) + 1
        while end > start and _BETWEEN.fullmatch(text, last := text.rfind("\n", 0, end - 1) + 1, end):
            end = last
        if end <= start or text[end - 1] != "\n" or _NAMED.search(text, start, end):
            return False
        self.parts += [text[self.done : line.end(1)], f" {_MARK}{len(self.left_out)}", text[line.end(1) : start]]
        self.left_out.append(text[start:end])
        self.done = end
        return True
