"""Rulesets solved exactly: cells, findings, tables and pictures."""
