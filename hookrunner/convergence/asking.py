"""`enabled` scripts, asked and measured: their runs stand among those of a module's hooks, under the name `enabled`
(addon-operator.md §5.2, §8.1)."""

from collections.abc import Sequence

from hookrunner.errors import ScriptFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Module
from hookrunner.modules.enabled import Answer
from hookrunner.modules.recalculation import Asks
from hookrunner.modules.scripts import Documents


class Measured:
    """Scripts whose runs are counted and timed."""

    def __init__(self, scripts: Asks, metrics: Metrics) -> None:
        self._scripts = scripts
        self._metrics = metrics

    async def ask(self, module: Module, documents: Documents, enabled: Sequence[str]) -> Answer:
        """The script's answer. Raises ScriptFailed, which is counted."""
        metrics, labels = self._metrics, (module.name, "enabled", "enabled", "", "")
        try:
            answer = await self._scripts.ask(module, documents, enabled)
        except ScriptFailed:
            metrics.module_hook_errors.inc(*labels)
            raise
        metrics.module_hook_success.inc(*labels)
        if usage := answer.usage:
            metrics.module_hook_run_seconds.observe(usage.seconds, *labels)
            metrics.module_hook_run_user_cpu_seconds.observe(usage.user_seconds, *labels)
            metrics.module_hook_run_sys_cpu_seconds.observe(usage.system_seconds, *labels)
            metrics.module_hook_run_max_rss_bytes.set(usage.max_rss_bytes, *labels)
        return answer
