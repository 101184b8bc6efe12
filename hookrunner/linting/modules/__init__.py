"""Checks of modules (docs/module-tools.md)."""
