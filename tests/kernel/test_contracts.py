"""Under any contract the kernel loads what an interpreter of plans loads, and all rows add up, however they are cut."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rows_contract import LOAD, NOW, as_set, root_key

from schemactl.errors import InputError
from schemactl.inference.findings import find_collisions
from schemactl.inference.resolve import resolve
from schemactl.kernel.chunks import Chunk
from schemactl.kernel.outcome import RowOutcome, tally_of
from schemactl.kernel.rows import RowMaker
from schemactl.kernel.stored import stored_value
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.plan import RowKey
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import LoadTime
from schemactl.schema.judgment import judge
from schemactl.schema.templates import new_schema

sys.path += [str(Path(__file__).parents[1] / name) for name in ("normalization", "parity")]
from interpret import run
from resolved_columns import evidence_of
from test_inference_parity import documents

FILE = "data.jsonl"
modes = st.sampled_from(["evolve", "discard_value", "discard_row"])
contracts = st.fixed_dictionaries({}, optional={"tables": modes, "columns": modes, "data_type": modes})


def made(plan, found, size):
    rows, rejects, outcome = {}, [], RowOutcome()
    for start in range(0, len(found), size):
        maker = RowMaker(plan, LoadTime(LOAD, NOW))
        part = found[start : start + size]
        chunk = maker.make(Chunk(FILE, range(start + 1, start + len(part) + 1), part))
        outcome.merge(maker.outcome)
        rejects += [row for batch in chunk.rejects for row in batch.to_pylist()]
        for name, batches in chunk.tables.items():
            rows.setdefault(name, []).extend(row for batch in batches for row in batch.to_pylist())
    return rows, rejects, tally_of(outcome, RowMaker(plan, LoadTime(LOAD, NOW)).problems, plan)


def stored(table, row):
    return {name: None if value is None else stored_value(value, table.columns[name]) for name, value in row.items()}


@settings(suppress_health_check=list(HealthCheck))
@given(documents, documents, contracts)
def test_what_a_contract_refuses_is_left_out_and_counted(known, found, contract):
    before = resolve(evidence_of(known), new_schema("made"), "data").schema
    evidence = evidence_of(found)
    resolution = resolve(evidence, before, "data")
    assume(not find_collisions(resolution))
    try:
        plan = make_plan(PlanRequest(evidence, resolution, judge(before, resolution.schema, contract)))
    except InputError:
        assume(False)
    # keys that follow from places in lists are none of the interpreter's
    assume(not any(rows.path and rows.key is RowKey.RANDOM for rows in plan.rows.walk()))
    rows, rejects, tally = made(plan, found, 100)
    assume(tally.is_loadable)
    assert made(plan, found, 1)[2] == tally
    is_keyed = [isinstance(document, dict) and document.get("_dlt_id") for document in found]
    keys = iter([root_key(FILE, number, plan.rows.table) for number, keyed in enumerate(is_keyed, 1) if not keyed])
    wanted = run(plan, found, lambda: next(keys), LOAD)
    for name, counts in tally.tables.items():
        written = rows.get(name, [])
        if name in plan.tables:
            assert len(written) == counts.written
            assert as_set(written) == as_set(stored(plan.tables[name], row) for row in wanted.rows[name]), name
        assert counts.read == counts.written + counts.rejected + counts.rejected_above
    assert sum(row["row"] is None for row in rejects) == sum(each.values_rejected for each in tally.tables.values())
    whole = {(row["table_name"], row["row_key"]) for row in rejects if row["row"] is not None}
    assert len(whole) <= sum(each.rejected for each in tally.tables.values())
