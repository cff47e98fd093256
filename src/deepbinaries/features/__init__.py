"""Features: region features of pictures and token ids of sentences, computed once and kept on disk."""
