"""What metrics say when bindings cannot be enabled at once. Level: sandbox."""

from dataclasses import replace

from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.model.modules import GLOBAL
from tests.engine.conftest import Bench

ERROR = 'errors_total{activation="OperatorStartup",binding="GlobalEnableKubernetesBindings",hook="a.sh",queue="main"}'


async def test_a_global_hook_that_cannot_follow_its_objects_counts_as_an_error_of_global_hooks(
    bench: Bench, jq: Jq, client: Client
) -> None:
    bench.cluster.forbidden.add("Secret")
    bench.hook("a.sh", {"kubernetes": [{"name": "secrets", "kind": "Secret"}]})
    await bench.start(jq, client)
    await bench.idle()
    assert "global_hook_errors_total{" not in bench.metrics.exposition().decode(), "it is a plain hook"
    bench.engine.add(replace(bench.engine.hooks["a.sh"], name="global/a.sh", module=GLOBAL))
    await bench.idle()
    assert f"\nglobal_hook_{ERROR} 1\n" in bench.metrics.exposition().decode()
