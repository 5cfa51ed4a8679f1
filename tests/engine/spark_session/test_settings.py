from __future__ import annotations

import sys
from pathlib import Path

import pytest

from schemactl.engine.spark.options import (
    SparkOptions,
    check_options,
    default_memory_mb,
    driver_conf,
    driver_memory_mb,
    local_cores,
    machine_memory_mb,
    parse_remote,
    parse_size_mb,
    parse_standalone,
)
from schemactl.errors import InputError


@pytest.mark.parametrize("master", [
    "local", "local[2]", "local[*]", "local[4,2]", "local-cluster[2,1,1024]", "spark://a:7077,b", "yarn", "k8s://h",
])  # fmt: skip
def test_every_form_of_a_master_is_taken(master: str) -> None:
    check_options(SparkOptions(master=master))
    check_options(SparkOptions(conf={"spark.master": master}))


@pytest.mark.parametrize("master", ["", "locl", "local[x]", "local[2", "http://a", "spark://"])
def test_what_is_no_master_is_reported(master: str) -> None:
    with pytest.raises(InputError, match="not a Spark master") as caught:
        check_options(SparkOptions(master=master))
    assert "local[*]" in (caught.value.hint or "")


def test_a_connect_address_given_as_master_is_reported_the_right_option() -> None:
    with pytest.raises(InputError) as caught:
        check_options(SparkOptions(master="sc://host"))
    assert caught.value.hint == "use `--remote sc://host`"


def test_master_and_remote_exclude_each_other() -> None:
    with pytest.raises(InputError, match="cannot be used together"):
        check_options(SparkOptions(master="local", remote="sc://host"))


@pytest.mark.parametrize("remote", ["", "host:15002", "sc://", "sc://host:port", "spark://host:1", "sc://a b"])
def test_what_is_no_connect_address_is_reported(remote: str) -> None:
    with pytest.raises(InputError, match="not a Spark Connect address"):
        check_options(SparkOptions(remote=remote))


@pytest.mark.parametrize(
    ("remote", "place"),
    [
        ("sc://host", ("host", 15002)),
        ("sc://host:1/;token=x;use_ssl=true", ("host", 1)),
        ("sc://[::1]:9", ("::1", 9)),
    ],
)
def test_a_connect_address_names_host_and_port(remote: str, place: tuple[str, int]) -> None:
    assert parse_remote(remote) == place


def test_a_size_that_is_none_is_reported() -> None:
    with pytest.raises(InputError, match="`much` is not a size"):
        check_options(SparkOptions(conf={"spark.driver.memory": "much"}))


def test_the_users_settings_go_before_ours(tmp_path: Path) -> None:
    user = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.warehouse.dir": "/data", "spark.x": "1"}
    conf = driver_conf(SparkOptions(master="local[2]", conf=user), tmp_path)
    assert conf | user == conf
    assert conf["spark.master"] == "local[2]"
    assert conf["spark.sql.caseSensitive"] == "true"


def test_the_master_may_stand_among_the_settings(tmp_path: Path) -> None:
    conf = driver_conf(SparkOptions(conf={"spark.master": "local[3]"}), tmp_path)
    assert conf["spark.master"] == "local[3]"
    assert driver_conf(SparkOptions(), tmp_path)["spark.master"] == "local[*]"


def test_workers_on_this_machine_run_our_python_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/elsewhere/python3")
    assert driver_conf(SparkOptions(master="local"), tmp_path)["spark.pyspark.python"] == sys.executable
    assert driver_conf(SparkOptions(master="yarn"), tmp_path)["spark.pyspark.python"] == "/elsewhere/python3"


def test_a_cluster_keeps_its_own_folders(tmp_path: Path) -> None:
    conf = driver_conf(SparkOptions(master="spark://host:7077"), tmp_path)
    assert not {"spark.sql.warehouse.dir", "spark.local.dir", "spark.sql.shuffle.partitions"} & set(conf)


@pytest.mark.parametrize("master", ["local", "local[2]", "local[4,2]", "local-cluster[2,1,1024]"])
def test_spark_on_this_machine_authenticates_connections_unless_the_user_declines(master: str, tmp_path: Path) -> None:
    assert driver_conf(SparkOptions(master=master), tmp_path)["spark.authenticate"] == "true"
    declined = SparkOptions(master=master, conf={"spark.authenticate": "false"})
    assert driver_conf(declined, tmp_path)["spark.authenticate"] == "false"


def test_each_local_cluster_has_a_secret_of_its_own(tmp_path: Path) -> None:
    options = SparkOptions(master="local-cluster[2,1,1024]")
    first, second = (driver_conf(options, tmp_path)["spark.authenticate.secret"] for _ in range(2))
    assert len({first, second}) == 2
    assert all(len(bytes.fromhex(secret)) == 32 for secret in (first, second))


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://host"])
def test_a_cluster_decides_by_itself_whether_connections_are_authenticated(master: str, tmp_path: Path) -> None:
    conf = {"spark.authenticate": "true", "spark.authenticate.secret": "x"}
    assert not conf.keys() & driver_conf(SparkOptions(master=master), tmp_path).keys()
    stated = driver_conf(SparkOptions(master=master, conf=conf), tmp_path)
    assert {name: stated[name] for name in conf} == conf


@pytest.mark.parametrize(("machine", "driver"), [(512, 768), (1024, 768), (4096, 2048), (8192, 4096), (65536, 4096)])
def test_the_driver_takes_half_of_the_memory_within_bounds(machine: int, driver: int) -> None:
    assert default_memory_mb(machine) == driver


def test_the_users_driver_memory_holds() -> None:
    assert driver_memory_mb({"spark.driver.memory": "6g"}) == 6144


def test_a_container_limit_below_the_machines_memory_counts(tmp_path: Path) -> None:
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text(f"{300 * 1024**2}\n")
    assert machine_memory_mb((tmp_path / "limit",)) == 300
    assert machine_memory_mb((tmp_path / "max", tmp_path / "absent")) > 300


@pytest.mark.parametrize(
    ("size", "mb"),
    [
        ("2g", 2048),
        ("1500m", 1500),
        ("3GB", 3072),
        ("512", 512),
        ("900k", 1),
        ("1t", 1024**2),
        ("", None),
        ("-1g", None),
    ],
)
def test_a_size_is_read_as_spark_reads_it(size: str, mb: int | None) -> None:
    assert parse_size_mb(size) == mb


def test_the_cores_of_a_local_master_are_known() -> None:
    assert [local_cores(m) for m in ("local", "local[3]", "local-cluster[2,4,1024]", "yarn")] == [
        1,
        3,
        8,
        None,
    ]


def test_several_standalone_masters_are_distinguished() -> None:
    assert parse_standalone("spark://a:1,b") == (("a", 1), ("b", 7077))
    assert parse_standalone("yarn") == ()


@pytest.mark.parametrize(
    ("options", "is_ours"),
    [
        (SparkOptions(), True),
        (SparkOptions(master="local[2]"), True),
        (SparkOptions(master="local-cluster[2,1,1024]"), False),
        (SparkOptions(master="spark://host:7077"), False),
        (SparkOptions(conf={"spark.pyspark.python": "/usr/bin/python3"}), False),
    ],
)
def test_only_workers_that_have_schemactl_are_forked_by_it(
    options: SparkOptions, is_ours: bool, tmp_path: Path
) -> None:
    assert ("spark.python.daemon.module" in driver_conf(options, tmp_path)) == is_ours


def test_a_local_spark_reads_s3_addresses_as_s3a_and_a_cluster_as_it_is_set_up(tmp_path: Path) -> None:
    name = "spark.hadoop.fs.s3.impl"
    assert driver_conf(SparkOptions(), tmp_path)[name].endswith("S3AFileSystem")
    assert driver_conf(SparkOptions(conf={name: "own"}), tmp_path)[name] == "own"
    assert name not in driver_conf(SparkOptions(master="yarn"), tmp_path)
