"""One thread for PyTorch: small networks gain nothing from more, and lose on a busy machine."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
