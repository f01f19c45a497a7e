"""The sub-commands of `castle`, one file each."""
