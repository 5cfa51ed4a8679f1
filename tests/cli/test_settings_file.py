from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from schemactl.cli.declarations import Setting, flag, option
from schemactl.cli.options import CommonOptions, SparkCommandOptions
from schemactl.cli.settings import (
    MAX_BYTES,
    Call,
    SettingsFile,
    Surroundings,
    check_keys,
    find_file,
    find_files,
    resolve,
)
from schemactl.errors import InputError
from schemactl.memory import memory_limit
from schemactl.time_limit import time_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(SparkCommandOptions):
    on_bad_record: Literal["stop", "skip"] = option("", setting=Setting(), default="stop")
    sample: str = option("", setting=Setting(), default="full")
    check: bool = flag("")
    null_value: Sequence[str] = option("", setting=Setting(section=("csv", "null-values")), default=[])


def resolved(*stated: dict[str, Any], environ: dict[str, str] | None = None, folder: Path | None = None) -> Options:
    file = find_file(folder) if folder else None
    return resolve(Options, Call("infer", stated, Surroundings(environ or {}, (file,) if file else ())))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def checked(folder: Path) -> None:
    file = find_file(folder)
    assert file is not None
    check_keys(file, {"infer": Options, "diff": CommonOptions})


def test_the_users_own_file_fills_in_what_the_others_leave_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", "not/absolute")
    work = tmp_path / "work"
    write(work / "schemactl.toml", 'sample = "1"\nconf = ["a=1"]\n')
    own = 'sample = "2"\nmaster = "yarn"\nconf = ["b=2"]\nschemas = "~/schemas"\n[infer]\nsample = "3"\n'
    write(tmp_path / "home/.config/schemactl/config.toml", own)

    def options() -> Options:
        return resolve(Options, Call("infer", (), Surroundings({}, find_files(work))))

    found = options()
    assert (found.sample, found.master, found.conf) == ("1", "yarn", ["b=2", "a=1"])
    assert found.schemas == str(tmp_path / "home/schemas")

    write(tmp_path / "xdg/schemactl/config.toml", 'master = "local[1]"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert (options().master, options().schemas) == ("local[1]", "schemas")


def test_defaults_hold_where_nothing_is_stated() -> None:
    options = resolved()

    assert (options.schemas, options.format, options.sample, options.conf) == ("schemas", "text", "full", [])


def test_schemas_are_looked_for_upward_within_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "schemas" / "export").mkdir(parents=True)
    (tmp_path / "project" / "src" / "schemas").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project" / "src")
    assert resolved().schemas == str(Path("..", "..", "schemas"))
    assert resolved(environ={"SCHEMACTL_SCHEMAS": "other"}).schemas == "other"
    (tmp_path / "project" / ".git").mkdir()
    assert resolved().schemas == "schemas"
    (tmp_path / "project" / "schemas" / "import").mkdir(parents=True)
    assert resolved().schemas == str(Path("..", "schemas"))


def test_nearer_word_decides(tmp_path: Path) -> None:
    write(tmp_path / "schemactl.toml", 'sample = "1"\n[infer]\nsample = "2"\n')
    environ = {"SCHEMACTL_SAMPLE": "3"}
    before_name, after_name = {"sample": "4"}, {"sample": "5"}

    assert resolved(after_name, before_name, environ=environ, folder=tmp_path).sample == "5"
    assert resolved({}, before_name, environ=environ, folder=tmp_path).sample == "4"
    assert resolved({}, {"sample": None}, environ=environ, folder=tmp_path).sample == "3"
    assert resolved(environ={"SCHEMACTL_SAMPLE": ""}, folder=tmp_path).sample == "2"


def test_table_of_another_command_does_not_count(tmp_path: Path) -> None:
    write(tmp_path / "schemactl.toml", 'schemas = "a"\n[diff]\nschemas = "b"\n')

    assert Path(resolved(folder=tmp_path).schemas).name == "a"


def test_spark_settings_add_up_and_the_nearer_one_wins(tmp_path: Path) -> None:
    write(tmp_path / "schemactl.toml", '[conf]\n"spark.a" = 1\n"spark.b" = true\n')

    spark = resolved({"conf": ["spark.a=2", "spark.c=x=y"]}, folder=tmp_path).spark()

    assert spark.conf == {"spark.a": "2", "spark.b": "true", "spark.c": "x=y"}


def test_modules_are_admitted_by_the_call_and_the_environment_only(tmp_path: Path) -> None:
    environ = {"SCHEMACTL_NAMING_MODULE": "acme.a, acme.b"}
    write(tmp_path / "schemactl.toml", 'naming-module = ["evil"]\n')

    options = resolved({"naming_module": ["acme.c"]}, environ=environ, folder=tmp_path)

    assert options.naming_module == ["acme.a", "acme.b", "acme.c"]
    with pytest.raises(InputError, match="there is no setting `naming-module`"):
        checked(tmp_path)


@pytest.mark.parametrize("pair", ["spark.a", "=1", " =1"])
def test_spark_setting_without_name_or_value_is_refused(pair: str) -> None:
    with pytest.raises(InputError, match="--conf"):
        resolved({"conf": [pair]}).spark()


def test_nearest_file_upward_holds(tmp_path: Path) -> None:
    write(tmp_path / "schemactl.toml", 'schemas = "outer"\nsample = "7"\n')
    write(tmp_path / "a/pyproject.toml", '[tool.schemactl]\nschemas = "inner"\n')
    write(tmp_path / "a/b/pyproject.toml", '[project]\nname = "not-schemactl"\n')
    (tmp_path / "a/b/c").mkdir()

    file = find_file(tmp_path / "a/b/c")

    assert file is not None
    assert file.path == tmp_path / "a/pyproject.toml"
    assert resolved(folder=tmp_path / "a/b/c").sample == "full"


def test_own_file_goes_before_the_project_file(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", '[tool.schemactl]\nsample = "1"\n')
    write(tmp_path / "schemactl.toml", '[tool.schemactl]\nsample = "2"\n')

    assert resolved(folder=tmp_path).sample == "2"


def test_folder_in_a_file_is_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "schemactl.toml", 'schemas = "contracts"\n')
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b")

    assert resolved(folder=Path.cwd()).schemas == str(Path("../../contracts"))
    assert resolved(environ={"SCHEMACTL_SCHEMAS": "here"}, folder=Path.cwd()).schemas == "here"


def test_absolute_folder_stays(tmp_path: Path) -> None:
    write(tmp_path / "schemactl.toml", f'schemas = "{tmp_path.as_posix()}/s"\n')

    assert resolved(folder=tmp_path).schemas == f"{tmp_path.as_posix()}/s"


def test_texts_that_stand_for_null_are_stated_in_a_table_for_csv(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", '[tool.schemactl.csv]\nnull-values = ["", "N/A"]\n')
    checked(tmp_path)
    assert resolved(folder=tmp_path).null_value == ["", "N/A"]
    assert resolved({"null_value": ["-"]}, folder=tmp_path).null_value == ["", "N/A", "-"]


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ('[csv]\nnull-value = ["x"]\n', 2, "did you mean `null-values`?"),
        ('null-values = ["x"]\n', 1, "did you mean `null-values` in `[csv]`?"),
        ('[infer]\nnull-value = ["x"]\n', 2, "did you mean `null-values` in `[csv]`?"),
        ('schemas = "s"\nshcemas = "x"\n', 2, "did you mean `schemas`?"),
        ('[infer]\n\n  sampel = "x"\n', 3, "did you mean `sample`?"),
        ('[infer]\non_bad_recrod = "skip"\n', 2, "did you mean `on-bad-record`?"),
        ("[infre]\n", 1, "did you mean `infer`?"),
        ("[diff]\nsample = 1\n", 2, None),
        ("check = true\n", 1, None),
    ],
)
def test_unknown_key_is_named_with_its_place(tmp_path: Path, text: str, line: int, hint: str | None) -> None:
    path = write(tmp_path / "schemactl.toml", text)

    with pytest.raises(InputError, match="there is no setting") as caught:
        checked(tmp_path)

    assert caught.value.at is not None
    assert (caught.value.at.path, caught.value.at.line) == (str(path), line)
    assert hint is None or caught.value.hint == hint


def test_keys_may_be_written_with_hyphens_or_underscores(tmp_path: Path) -> None:
    for key in ("on-bad-record", "on_bad_record"):
        write(tmp_path / "schemactl.toml", f'[infer]\n{key} = "skip"\n')
        checked(tmp_path)
        assert resolved(folder=tmp_path).on_bad_record == "skip"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[destinations.'prod.eu']\n", {"prod.eu": 1, "destinations": 1}),
        ("# x\n [[diff.silence]] # [a.key]\n", {"silence": 2, "key": None}),
        ('fail_on = "x"\n"fail-on" = "y"\n', {"fail-on": 1, "fail_on": 1}),
        ("tool.schemactl.x = 1\nfail-on\n", {"tool": 1, "x": None, "fail-on": None}),
        ("[xsilence]\n", {"silence": None}),
    ],
)
def test_the_place_of_a_key_is_the_first_line_that_names_it(text: str, line: dict[str, int | None]) -> None:
    file = SettingsFile(Path("schemactl.toml"), Path(), text)
    assert {key: file.locate(key).line for key in line} == line


LONG = 500_000
SLOW = {
    "a key of many parts": ("a" + ".a" * 64 + " = 1\n", "schemactl.toml:1: a key has more than 64 parts"),
    "a key of very many parts": (f"x = 1\n{'a.' * LONG}a = 1\n", "schemactl.toml:2: a key has more than 64 parts"),
    "a header of many parts": (f"[{'a . ' * 200}a]\n", "a key has more than 64 parts"),
    "quoted parts": ("'a'." * 100 + "'a' = 1\n", "a key has more than 64 parts"),
    "parts with escaped quotes": ('"\\"".' * 100 + '"a" = 1\n', "a key has more than 64 parts"),
    "an inline table": (f"x = {{{'a.' * 100}a = 1}}\n", "a key has more than 64 parts"),
    "blanks": (f"[{' ' * LONG}\n", "this is not TOML"),
    "blanks of a key": (f"x{' ' * LONG}= 1\n", "there is no setting `x`"),
    "quotes": ("'\"" * LONG, "this is not TOML"),
    "escaped quotes": ('"' + '\\"' * LONG, "this is not TOML"),
    "digits": (f"x = {'1' * LONG}\n", "this is not TOML: exceeds the limit"),
    "brackets": ("x = " + "[" * LONG, "this TOML is nested too deeply"),
    "a long name": (f"{'x-' * LONG} = 1\n", "there is no setting"),
    "many headers": ("".join(f"[x{number}]\n" for number in range(100_000)), "there is no setting"),
    "too long a file": ("#" * (MAX_BYTES + 1), "is longer than 1 MiB"),
}


@pytest.mark.parametrize("name", SLOW)
def test_no_settings_take_long_or_much_memory(tmp_path: Path, name: str) -> None:
    text, message = SLOW[name]
    write(tmp_path / "schemactl.toml", text)
    # Each took minutes, or gigabytes, before.
    with time_limit(20, TimeoutError), memory_limit(1 << 30, MemoryError), pytest.raises(InputError) as caught:
        checked(tmp_path)
    assert message in str(caught.value)


def test_keys_of_other_tools_may_have_many_parts(tmp_path: Path) -> None:
    other = f"[tool.{'.'.join('a' * 60)}]\nb = '{'a.' * 60}'\n"
    write(tmp_path / "pyproject.toml", f"[tool.schemactl]\nsample = '1'\n{other}")
    assert resolved(folder=tmp_path).sample == "1"


def test_a_file_of_other_tools_that_is_long_and_deep_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", f"[tool.other]\n{'a.' * 100}b = 1\n")
    assert find_file(tmp_path) is None


def test_a_byte_order_mark_and_line_ends_of_windows_are_read(tmp_path: Path) -> None:
    (tmp_path / "schemactl.toml").write_bytes(b'\xef\xbb\xbf[infer]\r\nsample = "1"\r\n')
    assert resolved(folder=tmp_path).sample == "1"


@pytest.mark.parametrize(("text", "message"), [
    ("schemas = \n", "this is not TOML"), ("[tool]\nschemactl = 1\n", "must be a table"),
    ("infer = 1\n", "must be a table"), ("\xff", "this is not TOML"),
])  # fmt: skip
def test_broken_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "schemactl.toml", text)

    with pytest.raises(InputError, match=message) as caught:
        checked(tmp_path)

    assert str(path) in str(caught.value)


def test_place_of_a_syntax_error_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "schemactl.toml", 'schemas = "s"\nsample = \n')

    with pytest.raises(InputError) as caught:
        find_file(tmp_path)

    assert caught.value.at is not None
    assert (caught.value.at.line, caught.value.at.column) == (2, 10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('on-bad-record = "skipp"\n', "`skipp` is not a value of `on-bad-record`"),
        ("schemas = true\n", "`schemas` must be a string"),
        ("schemas = 3\n", "`schemas` must be a path, in quotes"),
        ('quiet = "maybe"\n', "`maybe` is not a value of `quiet`"),
        ("conf = 1\n", "`conf` must be a table or a list of strings"),
    ],
)
def test_wrong_value_in_a_file_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path / "schemactl.toml", text)

    with pytest.raises(InputError, match="schemactl.toml:1: " + message.replace("[", r"\[")):
        resolved(folder=tmp_path)


def test_wrong_value_in_the_environment_is_named() -> None:
    with pytest.raises(InputError, match="`SCHEMACTL_COLOR`") as caught:
        resolved(environ={"SCHEMACTL_COLOR": "alway"})

    assert caught.value.hint == "did you mean `always`?"


def test_flags_in_the_environment() -> None:
    assert resolved(environ={"SCHEMACTL_QUIET": "1"}).quiet
    assert not resolved(environ={"SCHEMACTL_QUIET": "no"}).quiet
    with pytest.raises(InputError):
        resolved(environ={"SCHEMACTL_QUIET": "perhaps"})


def test_what_belongs_to_one_call_is_not_read_from_the_environment() -> None:
    assert not resolved(environ={"SCHEMACTL_CHECK": "1"}).check
