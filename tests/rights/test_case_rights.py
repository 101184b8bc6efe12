"""The rights that hooks use in their test cases, found by a sandbox. Level: sandbox."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from hookrunner.errors import BadInput
from hookrunner.hooks.config.hook_config import parse
from hookrunner.model.bindings import Hook
from hookrunner.model.rights import Reason, merge
from hookrunner.rights.case_rights import used_rights
from hookrunner.rights.kind_names import KindNames
from hookrunner.settings import HooksSettings
from hookrunner.testing.bench import bench
from tests.controlplane.tools import find_tool
from tests.trees import write_files

pytestmark = pytest.mark.slow

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}
STARTS = "- {name: starts, when: {event: Startup}, given: %s}\n"
WRITES = f"""#!/bin/bash
cat > "$KUBERNETES_PATCH_PATH" <<'EOF'
{{"operation": "CreateOrUpdate", "object": {orjson.dumps(POD).decode()}}}
EOF
"""
MESSENGER = """#!/usr/bin/env python3
import http.client, os, re, ssl
text = open(os.environ["KUBECONFIG"]).read()
address, token = re.search("server: https://(.*)", text)[1], re.search("token: (.*)", text)[1]
connection = http.client.HTTPSConnection(address, context=ssl._create_unverified_context())
connection.request("%s", "%s", headers={"Authorization": f"Bearer {token}"})
connection.getresponse().read()
"""


async def used(tmp_path: Path, script: str, given: Any = (), **config: Any) -> set[tuple[str, ...]]:
    """Namespace, resources or URLs, verbs."""
    write_files(tmp_path, {"a.sh*": script, "a.sh.test.yaml": STARTS % orjson.dumps(given).decode()})
    path = {"PATH": f"{find_tool('kubectl').parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    settings = HooksSettings(tmp_path, tmp_dir=tmp_path, environ=path)
    async with bench(settings) as tools:
        rights = merge(await used_rights([hook(tmp_path, config)], tools, KindNames()))
    assert {right.names for right in rights} <= {()}
    assert {right.needs for right in rights} <= {(Reason("hook a.sh", "test case 'starts'"),)}
    return {(right.namespace, *right.resources, *right.urls, " ".join(right.verbs)) for right in rights}


def hook(directory: Path, config: Mapping[str, Any]) -> Hook:
    text = orjson.dumps({"configVersion": "v1", "onStartup": 1, **config})
    return Hook("a.sh", directory / "a.sh", parse("a.sh", text))


async def test_an_operation_needs_all_that_it_may_do(tmp_path: Path) -> None:
    assert await used(tmp_path, WRITES) == {("", "pods", "get create update")}


async def test_kubectl_needs_what_it_requests(tmp_path: Path) -> None:
    script = "#!/bin/bash\nkubectl --namespace shop label pod web color=red && kubectl get nodes\n"
    assert await used(tmp_path, script, [POD]) == {("", "pods", "get patch"), ("", "nodes", "list")}


async def test_what_a_hook_states_needs_nothing_more(tmp_path: Path) -> None:
    stated = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "update"], "namespaces": ["shop"]}
    settings = {"permissions": [stated]}
    assert await used(tmp_path, WRITES, settings=settings) == {("", "pods", "get")}


async def test_a_hook_writes_in_the_namespaces_that_its_bindings_name(tmp_path: Path) -> None:
    bound = [{"kind": "Pod", "namespace": {"nameSelector": {"matchNames": ["shop", "till"]}}}]
    expected = {("shop", "pods", "get create update"), ("till", "pods", "get create update")}
    assert await used(tmp_path, WRITES, kubernetes=bound) == expected


async def test_a_url_is_needed_as_a_url(tmp_path: Path) -> None:
    assert await used(tmp_path, MESSENGER % ("GET", "/metrics")) == {("", "/metrics", "get")}


async def test_a_request_that_no_rule_can_allow_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        await used(tmp_path, MESSENGER % ("OPTIONS", "/api/v1/pods"))
    text = "hook a.sh makes a request in test case 'starts' that no rule of RBAC can allow: OPTIONS /api/v1/pods; "
    assert str(refused.value) == f"{text}rules have verbs for GET, HEAD, POST, PUT, PATCH and DELETE"


async def test_a_case_that_fails_with_a_cluster_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        await used(tmp_path, "#!/bin/bash\necho no such thing; exit 3\n")
    assert "a.sh.test.yaml:1: test case 'starts' does not end as it expects with a cluster" in str(refused.value)
    assert "so its rights are unknown; see `hookrunner hook test" in str(refused.value)
    assert str(refused.value).endswith("\n| no such thing")
