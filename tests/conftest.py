"""A worker has a core: threads of BLAS beside it would wait, spinning, for those of the other workers."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # what workers and children take over, before they import NumPy
