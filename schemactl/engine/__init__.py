"""Engines read data and run the kernel over it (``protocol``): Spark, or processes of this machine.

``choice`` opens one. Sources, their formats and faults, the scan and the rows of loads are the same for all engines.
Only ``spark``, ``session`` and ``destinations.spark`` import pyspark, within the DataFrame API, so that they run on
this machine, on a cluster and through Spark Connect alike.
"""
