"""`enabled` scripts, asked and measured: their runs stand among those of a module's hooks, under the name `enabled`.
A script that fails counts in `modules_discover_errors_total`, as in addon-operator."""

from collections.abc import Callable, Sequence

from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import MAIN
from hookrunner.model.modules import Module
from hookrunner.modules.enabled import Answer
from hookrunner.modules.recalculation import Asks
from hookrunner.modules.scripts import Documents


class Measured:
    """Scripts whose runs are timed. `activation` says what set off the converge that asks."""

    def __init__(self, scripts: Asks, metrics: Metrics, activation: Callable[[], str]) -> None:
        self._scripts = scripts
        self._metrics = metrics
        self._activation = activation

    async def ask(self, module: Module, documents: Documents, enabled: Sequence[str]) -> Answer:
        """The script's answer. Raises ScriptFailed."""
        metrics, labels = self._metrics, (module.name, "enabled", "enabled", MAIN, self._activation())
        answer = await self._scripts.ask(module, documents, enabled)
        if usage := answer.usage:
            metrics.module_hook_run_seconds.observe(usage.seconds, *labels)
            metrics.module_hook_run_user_cpu_seconds.observe(usage.user_seconds, *labels)
            metrics.module_hook_run_sys_cpu_seconds.observe(usage.system_seconds, *labels)
            metrics.module_hook_run_max_rss_bytes.set(usage.max_rss_bytes, *labels)
        return answer
