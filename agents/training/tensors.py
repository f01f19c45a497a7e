"""Arrays as tensors, which a checkpoint may hold, and back."""

from typing import Any

import numpy as np
import torch


def to_tensors(values: dict[str, Any]) -> dict[str, Any]:
    """The same dict with arrays as tensors."""
    return {key: torch.tensor(value) if isinstance(value, np.ndarray) else value
            for key, value in values.items()}


def to_arrays(values: dict[str, Any]) -> dict[str, Any]:
    """The same dict with tensors as arrays."""
    return {key: value.cpu().numpy() if isinstance(value, torch.Tensor) else value
            for key, value in values.items()}
