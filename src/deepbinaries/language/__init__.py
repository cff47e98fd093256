"""Sentences: words, vocabularies, bags of words, concepts."""
