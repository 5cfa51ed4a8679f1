"""Starts a driver, a Java process with Spark in it, as the options say."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

from schemactl.engine.session.bounded import check_reachable
from schemactl.engine.session.failure import explained
from schemactl.engine.session.java import find_java
from schemactl.engine.session.java_cache import JavaStart, keep_cache, open_cache
from schemactl.engine.session.launch import LOG_NAME, Launch, java_options
from schemactl.engine.session.process import Gateway, await_end, await_gateway, spark_process
from schemactl.engine.session.settings import SparkOptions, driver_conf, driver_memory_mb, parse_standalone
from schemactl.progress import Progress, no_progress
from schemactl.store.own_folder import own_folder

CACHE_LIMIT_SECONDS = 300


@dataclass(slots=True)
class Driver:
    """A Java process that has been started, and how.

    Attributes:
        process: the process.
        launch: how it was started.
        options: what it was started for.
        is_used: whether somebody has attached to it.
    """

    process: subprocess.Popen[bytes]
    launch: Launch
    options: SparkOptions
    is_used: bool = False

    def await_gateway(self) -> Gateway:
        """Wait until it listens, and return where.

        Raises:
            EngineError: it ended, or it does not listen in time.
        """
        self.is_used = True
        return await_gateway(self.process, self.launch)


@contextlib.contextmanager
def started_driver(options: SparkOptions, progress: Progress = no_progress) -> Iterator[Driver]:
    """Start a driver, and end it and its children at the end of the block, however that comes.

    Args:
        options: which Spark.
        progress: reports what takes long after the block.

    Raises:
        EngineError: there is no Java, it cannot be started, or the cluster cannot be reached.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(own_folder("spark", log=LOG_NAME))
        conf = driver_conf(options, folder)
        check_reachable("the Spark master", conf["spark.master"], parse_standalone(conf["spark.master"]))
        java = find_java()
        launch = Launch(java, folder, conf, driver_memory_mb(conf), options.debug, is_brief=options.is_brief)
        start = JavaStart(java, launch.class_path, java_options(launch), launch.memory_mb)
        cache = stack.enter_context(open_cache(options.java_cache, start))
        if options.debug:
            chosen = f"Java {java.version} of {java.origin}: {java.home}"
            print(*java.passed_over, chosen, *([cache] if cache else []), sep="\n", file=sys.stderr)
        if cache is not None:
            launch = replace(launch, cache_options=cache.options)
        stack.enter_context(explained(None if options.debug else launch.log))
        process = stack.enter_context(spark_process(launch))
        driver = Driver(process, launch, options)
        makes_cache = cache is not None and cache.made_at is not None
        has_ended_well = False
        try:
            yield driver
            has_ended_well = driver.is_used
        finally:
            # One that nobody used would first come up; one that shall leave by itself would begin to keep.
            if not driver.is_used or (makes_cache and not has_ended_well):
                process.kill()
        if cache is not None and makes_cache and has_ended_well:
            progress("keeping what Java learned", None)
            keep_cache(cache, await_end(process, CACHE_LIMIT_SECONDS))
