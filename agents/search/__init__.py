"""Search players: alphabeta, Monte Carlo tree search, and PUCT guided by a network."""
