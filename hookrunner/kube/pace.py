"""A client-side rate limit, off by default: API servers have priority and fairness since 1.20 and say 429 themselves.

Users of the predecessors have flags for it (`--kube-client-qps`, `--kube-client-burst`, shell-operator.md §11.2).
"""

import asyncio


class Pace:
    """A token bucket: `burst` calls at once, `qps` a second after that, in the order they came. `qps` 0 is no limit."""

    def __init__(self, qps: float, burst: int) -> None:
        self._interval = 1 / qps if qps > 0 else 0.0
        self._credit = self._interval * (max(burst, 1) - 1)
        self._next = 0.0

    async def turn(self) -> float:
        """Return when the next call may be made; how many seconds that took."""
        if not self._interval:
            return 0.0
        now = asyncio.get_running_loop().time()
        mine = max(self._next, now)
        self._next = mine + self._interval
        held = max(0.0, mine - self._credit - now)
        if held:
            await asyncio.sleep(held)
        return held
