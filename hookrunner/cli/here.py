"""Paths as somebody in this directory would write them."""

from pathlib import Path


def relative(path: Path) -> Path:
    """As short as it can be said."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
