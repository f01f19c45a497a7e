"""Self-play training as a run that can be stopped, killed and resumed."""
