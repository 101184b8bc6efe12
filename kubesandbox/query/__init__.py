"""What path and query of a request say: place, options, selectors."""
