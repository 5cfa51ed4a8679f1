"""Evidence as JSON: stored next to a schema, it replaces the data that it was collected from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from schemactl.field_values import field_values
from schemactl.inference.evidence import ClassEvidence, Evidence, FileEvidence, PathEvidence, Position
from schemactl.inference.lineage import FORMAT, read_marked
from schemactl.schema.paths import Path
from schemactl.schema.types import DataType

MARK: Final = "schemactl_evidence"
ENDING: Final = ".evidence.json"


def is_evidence_file(path: str) -> bool:
    """Return whether a source is saved evidence, by its ending."""
    return path.endswith(ENDING)


def write_evidence(evidence: Evidence) -> str:
    """Return evidence as JSON text, equal for equal evidence."""
    nullable = [{"path": list(path), "nullable": may_be_null} for path, may_be_null in evidence.nullable.items()]
    stored = {
        MARK: FORMAT,
        "files": {path: field_values(file) for path, file in sorted(evidence.files.items())},
        "paths": _paths_to_list(evidence.paths),
        "typed": [
            {"path": list(path), "column": dict(column)}
            | ({"stated": sorted(evidence.conflicting_types[path])} if path in evidence.conflicting_types else {})
            for path, column in evidence.declared.items()
        ],
        **({"nullable": nullable} if nullable else {}),
        **({"counted": _paths_to_list(evidence.counted)} if evidence.counted else {}),
        "witnesses": [
            {"file": position.file, "number": position.number, "document": document}
            for position, document in sorted(evidence.witnesses.items())
        ],
    }
    return json.dumps(stored, ensure_ascii=False, indent=1) + "\n"


def read_evidence(text: str, path: str) -> Evidence:
    """Return evidence from the JSON text of ``write_evidence``."""
    return read_marked(text, path, MARK, "saved evidence", _evidence)


def _evidence(stored: Mapping[str, Any]) -> Evidence:
    disagreed = [column for column in stored["typed"] if "stated" in column]
    return Evidence(
        paths=_paths_from_list(stored["paths"]),
        witnesses={Position(item["file"], item["number"]): item["document"] for item in stored["witnesses"]},
        files={path: FileEvidence(**file) for path, file in stored["files"].items()},
        declared={tuple(column["path"]): column["column"] for column in stored["typed"]},
        conflicting_types={tuple(column["path"]): frozenset(map(DataType, column["stated"])) for column in disagreed},
        # Not in files of earlier versions.
        nullable={tuple(column["path"]): bool(column["nullable"]) for column in stored.get("nullable", ())},
        counted=_paths_from_list(stored.get("counted", ())),
    )


def _paths_to_list(paths: Mapping[Path, PathEvidence]) -> list[dict[str, Any]]:
    def stored(value: ClassEvidence) -> dict[str, Any]:
        return {
            **field_values(value),
            "first": [value.first.file, value.first.number],
            "examples": list(value.examples),
        }

    return [
        {"path": list(path), "classes": {name: stored(value) for name, value in sorted(classes.items())}}
        for path, classes in sorted(paths.items(), key=lambda item: json.dumps(item[0]))
    ]


def _paths_from_list(stored: Iterable[Mapping[str, Any]]) -> dict[Path, dict[str, ClassEvidence]]:
    def read(fields: Mapping[str, Any]) -> ClassEvidence:
        # Files of earlier versions do not say whether values vary.
        return ClassEvidence(
            **{"varies": True, **fields, "first": Position(*fields["first"]), "examples": tuple(fields["examples"])}
        )

    return {tuple(entry["path"]): {name: read(fields) for name, fields in entry["classes"].items()} for entry in stored}
