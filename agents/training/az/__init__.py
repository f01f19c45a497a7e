"""Expert iteration: self-play by search, and a network that learns what the searches found."""
