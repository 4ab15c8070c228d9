"""What draws cost, alone and together."""
