"""Search players: alphabeta, UCT, network-guided PUCT, greedy and uniform random."""
