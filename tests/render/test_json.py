from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from command_schemas import check_document

from schemactl.inference.report import InferenceReport
from schemactl.render.json import read_schema, render_document

SITUATIONS = ("new_schema", "troubled", "unchanged", "hostile")


@pytest.mark.parametrize("situation", SITUATIONS)
def test_document_follows_the_shipped_schema(situation: str, request: pytest.FixtureRequest) -> None:
    document = json.loads(render_document(request.getfixturevalue(situation).to_dict()))

    check_document(document, "infer")


@pytest.mark.parametrize("file", sorted(path.name for path in files("schemactl.render").joinpath("schemas").iterdir()))
def test_every_key_of_a_shipped_schema_is_explained(file: str) -> None:
    def unexplained(part: object, place: str) -> list[str]:
        if isinstance(part, list):
            return [found for each in part for found in unexplained(each, place)]
        if not isinstance(part, dict):
            return []
        # A key may be named `properties` itself; it is one where its values are schemas.
        keys = {key: value for key, value in (part.get("properties") or {}).items() if isinstance(value, dict)}
        here = [f"{place}.{key}" for key, value in keys.items() if not {"description", "$ref"} & value.keys()]
        return here + [found for key, value in part.items() for found in unexplained(value, f"{place}.{key}")]

    assert unexplained(read_schema(file.removesuffix(".schema.json")), "") == []


@pytest.mark.parametrize("command", ["infer", "import", "diff", "rules", "normalize"])
def test_the_manual_reports_the_keys_of_each_document_in_the_words_of_its_schema(command: str) -> None:
    manual = (Path(__file__).parents[2] / "docs/json.md").read_text(encoding="utf-8")
    section = manual.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    reported = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))
    schema = read_schema(command)
    parts = {
        key: {**schema["$defs"].get(str(part.get("$ref")).rpartition("/")[2], {}), **part}
        for key, part in schema["properties"].items()
    }

    assert reported == {key: part["description"].replace("|", "\\|") for key, part in parts.items()}


def test_schema_describes_every_key_and_no_other(troubled: InferenceReport, new_schema: InferenceReport) -> None:
    schema = read_schema("infer")
    documents = [json.loads(render_document(report.to_dict())) for report in (troubled, new_schema)]

    def check(value: object, part: dict) -> None:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        if isinstance(value, dict) and "properties" in part:
            assert set(value) == set(part["properties"]) == set(part["required"])
            assert part["additionalProperties"] is False
            for key, item in value.items():
                check(item, part["properties"][key])
        if isinstance(value, list) and isinstance(part.get("items"), dict):
            for item in value:
                check(item, part["items"])

    for document in documents:
        check(document, schema)


def test_a_wrong_document_is_found_wrong(new_schema: InferenceReport) -> None:
    document = json.loads(render_document(new_schema.to_dict()))
    document["tables"][0]["columns"][0]["values"] = "many"

    with pytest.raises(jsonschema.ValidationError):
        check_document(document, "infer")


def test_document_gives_back_what_the_data_said(hostile: InferenceReport) -> None:
    printed = render_document(hostile.to_dict())

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", printed)
    assert json.loads(printed)["name"] == hostile.name


def test_names_in_other_scripts_stay_readable(new_schema: InferenceReport) -> None:
    assert '"name": "注文"' in render_document(replace(new_schema, name="注文").to_dict())


def test_number_beyond_a_double_is_null(new_schema: InferenceReport) -> None:
    column = replace(new_schema.tables[0].columns[3], range=(-1.0, float("inf")))
    table = replace(new_schema.tables[0], columns=(column,))

    document = json.loads(render_document(replace(new_schema, tables=(table,)).to_dict()))

    assert document["tables"][0]["columns"][0]["range"] == [-1.0, None]
    check_document(document, "infer")
