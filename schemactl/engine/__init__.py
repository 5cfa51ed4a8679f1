"""Spark: the session, the sources, the scan. Only this package and `destinations.spark` import pyspark.

`open_session` in `session` is the only door to Spark; everything else takes the session it gives and stays
within the DataFrame API, so that it runs on the local machine, on a cluster and through Spark Connect alike.
"""
