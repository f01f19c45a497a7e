"""The rows of `castle bench`."""
