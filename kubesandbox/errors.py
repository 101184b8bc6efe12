"""What a sandbox refuses before it serves. What it refuses to clients is in `status.py`."""


class BadFile(Exception):
    """A seed or a data file cannot be used; the message says which, why, and what to do."""
