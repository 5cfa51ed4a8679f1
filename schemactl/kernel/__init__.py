"""A batch of documents or columns -> evidence and rows: plain Python, orjson and pyarrow, no Spark.

``partitions``, ``package`` and ``typing_rows`` hold what runs in ``mapInArrow``. They read files (``files``), parse
documents (``parsing``) and make evidence (``observation``, ``columnar``) or rows (``rows``) of them; the other modules
serve these.
"""
