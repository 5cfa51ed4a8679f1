"""A database converts no text that is nearly a date, a time or a moment to anything else than dlt does."""

from datetime import UTC, datetime

import pytest

from schemactl.destinations import duckdb, postgresql
from schemactl.migration.statements import Retype
from schemactl.schema.types import Column

coerce_value = pytest.importorskip("dlt.common.data_types").coerce_value

pytestmark = pytest.mark.parity

SPELT = {
    "date": ["2024-05-06"],
    "time": ["10:20:30", "10:20:30.123"],
    "timestamp": ["2024-05-06T10:20:30.123456Z", "2024-05-06T10:20:30.12Z", "2024-05-06T10:20:30Z"],
}
EVERY = [chr(code) for code in range(1, 128)] + ["\u0663", "\uff12", "\u2212", "\u00a0"]
"""Those of ASCII; and digits, a minus and a blank of other scripts."""
PAIRED = " 1+-.:TZE,"


def near(text):
    """Return texts that differ from one in a character, changed, put in or left out, or in two changed ones."""
    found = {text}
    for at in range(len(text)):
        start, rest = text[:at], text[at + 1 :]
        found.add(start + rest)
        found.update(start + each + end for each in EVERY for end in (rest, text[at:]))
        for other in range(at + 1, len(text)):
            middle, end = text[at + 1 : other], text[other + 1 :]
            found.update(start + one + middle + two + end for one in PAIRED for two in PAIRED)
    found.update(text + each for each in EVERY)
    return found


def given_by_dlt(text, to):
    """Return the value as a column holds it; None where dlt refuses."""
    try:
        found = coerce_value(to, "text", text)
    except (ValueError, OverflowError):
        return None
    if isinstance(found, datetime):
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return found


@pytest.fixture(params=[duckdb, postgresql], ids=["duckdb", "postgresql"])
def migration(request, tmp_path):
    """A session of a destination."""
    if request.param is postgresql:
        url = f"{request.getfixturevalue('postgres_database')}?dataset=near"
    else:
        url = f"duckdb:///{tmp_path / 'file.db'}?dataset=near"
    with request.param.connect(url, "near") as found:
        yield found


def store(session, texts):
    """Put texts into a table ``near_miss``."""
    session.database.execute('CREATE TEMP TABLE near_miss ("v" VARCHAR)')
    listed = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
    session.database.execute(f"INSERT INTO near_miss SELECT unnest(ARRAY[{listed}])")


def wrong(found, to):
    """Return those of some values by their texts that are not what dlt gives."""
    return {text: value for text, value in found.items() if value != given_by_dlt(text, to)}


@pytest.mark.parametrize("to", SPELT)
def test_a_text_that_is_nearly_a_moment_becomes_what_dlt_gives_or_is_refused(migration, to):
    store(migration, sorted(set().union(*map(near, SPELT[to]))))
    retype = Retype(Column("v", {"data_type": "text"}), Column("v", {"data_type": to}))
    found = migration.engine.convert(retype, '"v"')
    if migration.database.dialect == "postgres":
        migration.stage_coerced(retype, "near_miss")

    fit = dict(migration.database.query(f'SELECT "v", {found.value} FROM near_miss WHERE {found.fits}'))
    cast = dict(migration.database.query(f'SELECT "v", {found.cast} FROM near_miss WHERE {found.is_sure}'))

    assert SPELT[to][0] in cast
    assert len(cast) > 30
    assert wrong(cast, to) == {}
    assert set(SPELT[to]) <= set(fit)
    assert wrong(fit, to) == {}
