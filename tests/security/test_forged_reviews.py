"""A review that no API server has sent: who reaches the port can forge it, and hooks decide what may come of it."""

import json
from pathlib import Path

import orjson
import pytest

from tests.flows.scripts import hook
from tests.security.attacked import ALLOW, RULE, Attacked, admission, attacked

pytestmark = pytest.mark.usefixtures("launcher")

FORGED = orjson.dumps({"userInfo": {"username": "system:admin", "groups": ["system:masters"]}})
MADE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made", "namespace": "default"}}


def changing(name: str, setting: str, ending: str = "", **operation: object) -> str:
    """A hook that has an object created in each review."""
    config = {
        "settings": {"onReviewPatches": setting},
        "kubernetesValidating": [{"name": f"{name}.attacked.example.com", "rules": [RULE]}],
    }
    patch = json.dumps({"operation": "Create", "object": MADE, **operation})
    return hook(config, f"echo '{patch}' > \"$KUBERNETES_PATCH_PATH\"\n{ALLOW}{ending}")


async def verdict(target: Attacked, name: str) -> bool:
    status, text = await target.review(admission(FORGED), f"/hooks/{name}-attacked-example-com")
    assert status == 200
    return bool(orjson.loads(text)["response"]["allowed"])


async def test_a_hook_can_forbid_that_a_review_changes_anything(tmp_path: Path) -> None:
    """The last one can create the object: none of those before it has."""
    scripts = {
        "a.sh": changing("refuses", "refuse"),
        "b.sh": changing("fails", "refuse", "exit 1\n", ignoreHookError=True),
        "c.sh": changing("changes", "apply"),
    }
    async with attacked(tmp_path, scripts) as target:
        assert [await verdict(target, name) for name in ("refuses", "fails", "changes")] == [False, False, True]
        assert "onReviewPatches refuses" in target.program.story()


@pytest.mark.parametrize(("flags", "warned"), [(("--webhook-url=https://127.0.0.1:1",), True), ((), False)])
async def test_a_port_that_accepts_forged_reviews_causes_a_warning(
    tmp_path: Path, flags: tuple[str, ...], warned: bool
) -> None:
    async with attacked(tmp_path, None, *flags) as target:
        warnings = [record for record in target.program.logs() if "can forge reviews" in json.dumps(record)]
    assert bool(warnings) == warned
    assert all("--validating-webhook-client-ca" in json.dumps(record) for record in warnings)
