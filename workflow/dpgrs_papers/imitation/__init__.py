"""People from a generative network, which is trained on the people of a store."""
