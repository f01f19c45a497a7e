"""Studies of rulesets and trainings: cells, findings and their reports."""
