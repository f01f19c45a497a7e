"""Matches, statistics, ratings, reports and pictures, and the `castle` command."""
