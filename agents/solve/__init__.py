"""Exact values: solvers of both modes, the book of storm, perfect and restricted play."""
