"""Faults on the way to a real API server."""
