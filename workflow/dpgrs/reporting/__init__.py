"""Static pages and figures of a study: from its tables and weights to what a reader opens in a browser."""
