"""This machine's processes as an engine: no Java, and no import but pyarrow, numpy and the kernel.

``engine`` runs kernel functions, in this process if the data is small and in worker processes (``workers``, ``worker``)
if it is not; ``input_formats`` cuts files into ``tasks``, whose records a kernel function reads.
"""
