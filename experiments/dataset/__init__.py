"""Datasets of positions: made by `castle dataset`, read as NumPy arrays or PyTorch tensors."""

from experiments.dataset.files import Dataset, DatasetError, load_dataset

__all__ = ["Dataset", "DatasetError", "load_dataset"]
