"""The state of the global random generators: PyTorch's, and NumPy's, from which SB3 draws."""

from typing import Any

import numpy as np
import torch


def get_random_state() -> dict[str, Any]:
    """Tensors and plain values that say what comes next."""
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [kind, torch.tensor(np.asarray(keys, dtype=np.int64)), position, has_gauss, gauss],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Take up what `get_random_state` gave."""
    torch.set_rng_state(state["torch"].cpu())
    if torch.cuda.is_available() and state["cuda"]:
        torch.cuda.set_rng_state_all([device.cpu() for device in state["cuda"]])
    kind, keys, position, has_gauss, gauss = state["numpy"]
    legacy = (kind, keys.cpu().numpy().astype(np.uint32), position, has_gauss, gauss)
    np.random.set_state(legacy)  # noqa: NPY002
