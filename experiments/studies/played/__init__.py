"""Rulesets played by agents: cells, findings, tables and pictures."""
