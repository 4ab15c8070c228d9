"""Linear models from sufficient statistics: exact integers in, weights of all outcomes out."""
