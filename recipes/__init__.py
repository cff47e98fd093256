"""Recipes: how the files that ship with the package were made. Run one from the root: `python -m recipes.NAME.STEP`."""
