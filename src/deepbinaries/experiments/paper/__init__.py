"""The paper's tables and figures: what each is made of (`*.toml`), what the paper prints, and ours beside it."""
