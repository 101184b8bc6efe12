"""A review that no API server has sent: who reaches the port can forge it, and hooks decide what may come of it.

Level: sandbox."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.flows.scripts import hook
from tests.sandboxes import read_access
from tests.security.attacked import ALLOW, RULE, Attacked, admission, attacked

pytestmark = pytest.mark.usefixtures("launcher")

FORGED = orjson.dumps({"userInfo": {"username": "system:admin", "groups": ["system:masters"]}})
MADE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made", "namespace": "default"}}


def changing(name: str, setting: str, ending: str = "", operation: object = None) -> str:
    """A hook that has an object created in each review, or does this."""
    config = {
        "settings": {"onReviewPatches": setting},
        "kubernetesValidating": [{"name": f"{name}.attacked.example.com", "rules": [RULE]}],
    }
    patch = json.dumps(operation or {"operation": "Create", "object": MADE})
    return hook(config, f"echo '{patch}' > \"$KUBERNETES_PATCH_PATH\"\n{ALLOW}{ending}")


def marked(condition: str) -> dict[str, Any]:
    """A patch of a status that is carried out for a hook that fails, too."""
    subject = {"operation": "MergePatch", "kind": "Namespace", "name": "default", "subresource": "status"}
    conditions = [{"type": condition, "status": "True"}]
    return subject | {"mergePatch": {"status": {"conditions": conditions}}, "ignoreHookError": True}


async def verdict(target: Attacked, name: str) -> bool:
    status, text = await target.review(admission(FORGED), f"/hooks/{name}-attacked-example-com")
    assert status == 200
    return bool(orjson.loads(text)["response"]["allowed"])


async def test_a_hook_can_forbid_that_a_review_changes_anything(tmp_path: Path) -> None:
    """What is asked for would be done: without the setting the same object is created, and the same kind of status is
    patched, though the hook fails."""
    scripts = {
        "a.sh": changing("refuses", "refuse"),
        "b.sh": changing("changes", "apply"),
        "c.sh": changing("refuses-failing", "refuse", "exit 1\n", marked("Refused")),
        "d.sh": changing("changes-failing", "apply", "exit 1\n", marked("Changed")),
    }
    async with attacked(tmp_path, scripts) as target:
        assert [await verdict(target, name) for name in ("refuses", "changes")] == [False, True]
        assert "onReviewPatches refuses" in target.program.story()
        assert [await verdict(target, f"{name}-failing") for name in ("changes", "refuses")] == [False, False]
        access = read_access(tmp_path / "kubeconfig")
        namespace = f"{access.url}/api/v1/namespaces/default"
        async with target.session.get(namespace, headers=access.headers) as answer:
            conditions = (await answer.json())["status"]["conditions"]
    assert [condition["type"] for condition in conditions] == ["Changed"]


@pytest.mark.parametrize(("flags", "warned"), [(("--webhook-url=https://127.0.0.1:1",), True), ((), False)])
async def test_a_port_that_accepts_forged_reviews_causes_a_warning(
    tmp_path: Path, flags: tuple[str, ...], warned: bool
) -> None:
    async with attacked(tmp_path, None, *flags) as target:
        warnings = [record for record in target.program.logs() if "can forge reviews" in json.dumps(record)]
    assert bool(warnings) == warned
    assert all("--validating-webhook-client-ca" in json.dumps(record) for record in warnings)
