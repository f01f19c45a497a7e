"""Studies of trainings, compared by how strong their agents become."""
