"""Experiments: what a fitted hasher is worth on a dataset's split, and results as lines that can be kept."""
