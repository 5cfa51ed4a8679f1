"""Java and the session: `open_session` is the only door to Spark, `begun` starts Java ahead of it.

opening   opens a session as the options say, here,     settings    the configuration of Spark
          on a server, or beside one that is open       java        finds Java
attach    PySpark to a Java process, and off            java_cache  keeps what Java learned
driver    starts and ends a Java process with Spark     kept        a driver that outlives its command
launch    how Java is started                           keeper      the process that keeps it
failure   what Spark raises becomes our error
"""

from schemactl.engine.session.failure import reading
from schemactl.engine.session.opening import begun, open_session
from schemactl.engine.session.settings import SparkOptions

__all__ = ["SparkOptions", "begun", "open_session", "reading"]
