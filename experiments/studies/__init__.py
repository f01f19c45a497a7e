"""Studies: TOML files that ask what rulesets and trainings are worth, computed cell by cell.

`rulesets` and `trained` hold the two kinds of study. Cells of rulesets are `solved` or `played`.
All kinds go one way: `load` -> `cells` -> findings -> `report`, and `run` takes them along it.
"""
