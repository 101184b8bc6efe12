"""What a sandbox cannot use of what its caller gives it. What it refuses to clients is in `status.py`."""


class SandboxError(Exception):
    """Root of these errors; the message is for the user."""


class BadOptions(SandboxError):
    """Options do not fit together; names their flags."""


class BadFile(SandboxError):
    """A seed or a data file cannot be used; the message says which, why, and what to do."""


class ObjectRefused(SandboxError):
    """No API server could have this object; says why."""
