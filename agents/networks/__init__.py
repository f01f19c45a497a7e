"""Policy networks: what they are made of, their files, and the agents that play by them."""
