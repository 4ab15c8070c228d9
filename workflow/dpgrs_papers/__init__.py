"""What readers of the papers need beside dpgrs: methods of others, fits of plain tables, experiments."""
