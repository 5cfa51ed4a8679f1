"""Java and the session: `open_session` is the only door to Spark, `begun` starts Java ahead of it.

opening   opens a session as the options say      settings    what the user and we tell Spark
attach    PySpark to a Java process, and off      remote      a session on a Spark Connect server
driver    a Java process with Spark in it         process     starts and ends Java
launch    how Java is started                     java        finds it
kept      a driver that outlives its command      keeper      the process that keeps it
failure   what Spark raises becomes our error     java_cache  keeps what Java learned
running   the session that a command has open     bounded     waits that end
watch     ends processes that outlive us          tasks       how much of a job is done
"""

from schemactl.engine.session.opening import begun, open_session
from schemactl.engine.session.settings import SparkOptions

__all__ = ["SparkOptions", "begun", "open_session"]
