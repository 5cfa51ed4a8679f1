"""Java and the session: `open_session` is the only door to Spark, `begun` starts Java ahead of it.

opening   opens a session as the options say,     settings    the configuration of Spark
          here or on a Spark Connect server       process     starts Java, and ends what outlives us
attach    PySpark to a Java process, and off      java        finds it
driver    a Java process with Spark in it         java_cache  keeps what Java learned
launch    how Java is started                     kept        a driver that outlives its command
running   the session that a command has open     keeper      the process that keeps it
failure   what Spark raises becomes our error     bounded     waits that end
given     works beside a session of the caller
"""

from schemactl.engine.session.opening import begun, open_session
from schemactl.engine.session.settings import SparkOptions

__all__ = ["SparkOptions", "begun", "open_session"]
