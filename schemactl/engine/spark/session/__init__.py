"""Java and Spark sessions: `open_session` is the only way to Spark, `start_java_early` starts Java ahead of it.

opening    opens a session: on a driver, on a server, or next to an open one
attach     connects PySpark to a driver, and disconnects it
driver     starts and ends a driver: a Java process with Spark in it
launch     makes the command, environment and files of that process
java       finds Java
failure    translates exceptions of Spark into errors of ours
"""

from schemactl.engine.spark.options import SparkOptions
from schemactl.engine.spark.session.failure import reading
from schemactl.engine.spark.session.opening import open_session, start_java_early

__all__ = ["SparkOptions", "open_session", "reading", "start_java_early"]
