"""How many files this process may have open, sockets too: as many as the system allows, but no more than usual for the
processes that it starts.

The usual soft limit is 1,024 for the sake of programs that use select(2), which cannot tell higher descriptors, and of
those that close all that they might have. We do neither, and clients of our ports may take hundreds.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_MOST = 1 << 20
"""Where the system has no limit, or one beyond any use."""
_SPARE = 64
"""Descriptors that starting a process, and threads meanwhile, may need."""
_STARTED_WITH = resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_limit() -> None:
    """Raise the soft limit to the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def limit() -> int:
    """How many may be open now."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST if soft == resource.RLIM_INFINITY else min(soft, _MOST)


@contextmanager
def as_started(highest: int) -> Iterator[None]:
    """Processes that are started inside the `with` have the soft limit that we were started with. `highest` is about
    the highest descriptor in use: where that comes near the old limit nothing is done, for nothing could be opened;
    then `restore` does it a moment later."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not _is_raised(soft) or highest + _SPARE > _STARTED_WITH:
        yield
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (_STARTED_WITH, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def restore(pid: int) -> None:
    """Give a process that we have just started the soft limit that we were started with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _is_raised(soft) and hasattr(resource, "prlimit"):
        with suppress(OSError):  # it has ended already
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (_STARTED_WITH, hard))


def _is_raised(soft: int) -> bool:
    unlimited = resource.RLIM_INFINITY
    return unlimited != _STARTED_WITH and (soft == unlimited or soft > _STARTED_WITH)
