"""People that a generative network makes, trained on those of a store."""
