"""Evaluation: how good a ranking is, with every choice that changes the number named."""
