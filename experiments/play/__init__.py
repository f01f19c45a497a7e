"""Games that a person plays or looks at in the terminal, and their files."""
