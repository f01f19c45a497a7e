"""Matches and what they say: records, intervals, ratings, quality of games and of moves."""
