"""Private statistics: what a budget buys, how far one unit moves a statistic, and the noise."""
