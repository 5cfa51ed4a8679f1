"""A batch of documents or columns -> evidence and rows: plain Python, orjson and pyarrow, no Spark.

parsing         texts -> documents               observation     documents -> evidence
value_classes   the class of values, by column   partitions      what runs in ``mapInArrow``
"""
