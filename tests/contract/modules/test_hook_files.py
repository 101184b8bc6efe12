"""The promise to hooks of modules and global hooks: the context of each binding, and the names of variables and files
(docs/hooks.md).

Level: pure."""

import os
import re
from pathlib import Path

from hookrunner.engine import dispatch
from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.config.schema import HookKind
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.model.bindings import BindingType, Hook
from hookrunner.model.contexts import Entry, render
from hookrunner.model.hook_runs import Values
from hookrunner.model.resources import ObjectKey
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings
from tests.tables import each

CONFIG = """
configVersion: v1
onStartup: 1
{}
kubernetes:
- {{name: pods, kind: Pod}}
- {{name: other, kind: Secret}}
"""
SNAPSHOTS = {0: [Entry(ObjectKey("ns", "Pod", "a"), b'{"kind":"Pod"}', None)], 1: []}
GIVEN = '"snapshots": {"pods": [{"object": {"kind":"Pod"}}], "other": []}'


def hook(kind: HookKind, module: str, bindings: str, watches: bool = True) -> Hook:
    text = CONFIG.format(bindings) if watches else CONFIG.format(bindings).partition("kubernetes:")[0]
    return Hook(f"{module}/hooks/h.sh", Path("/h.sh"), parse("h", text.encode(), kind), module)


@each(
    ("kind", "module", "keys"),
    [
        (HookKind.GLOBAL, "global", ("beforeAll", "afterAll")),
        (HookKind.MODULE, "foo", ("beforeHelm", "afterHelm", "beforeDeleteHelm", "afterDeleteHelm")),
    ],
)
def test_lifecycle_bindings_get_the_documented_context(kind: HookKind, module: str, keys: tuple[str, ...]) -> None:
    bindings = "\n".join(f"{key}: 10" for key in keys)
    watching, blind = hook(kind, module, bindings), hook(kind, module, bindings, watches=False)
    for key in keys:
        run = dispatch.for_lifecycle(watching, BindingType(key))
        assert b"".join(render(run.contexts, SNAPSHOTS)) == as_json(f'{{"binding": "{key}", {GIVEN}}}')
        run = dispatch.for_lifecycle(blind, BindingType(key))
        assert b"".join(render(run.contexts, {})) == as_json(f'{{"binding": "{key}", "snapshots": {{}}}}')


@each(("kind", "module"), [(HookKind.GLOBAL, "global"), (HookKind.MODULE, "foo")])
def test_onstartup_hooks_get_the_documented_context(kind: HookKind, module: str) -> None:
    (run,) = dispatch.startup_runs([hook(kind, module, "")])
    assert b"".join(render(run.contexts, SNAPSHOTS)) == b'[{"binding":"onStartup"}]\n'


async def test_hooks_of_modules_get_the_documented_variables_and_files(tmp_path: Path) -> None:
    script = tmp_path / "my hook.sh"
    script.write_text(f"#!/bin/sh\nenv | grep _PATH= > {tmp_path}/seen\ncat $CONFIG_VALUES_PATH $VALUES_PATH >&2\n")
    script.chmod(0o755)
    settings = HooksSettings(directory=tmp_path, tmp_dir=tmp_path / "tmp", environ={"PATH": os.environ["PATH"]})
    mine = Hook("my-module/hooks/sub/my hook.sh", script, parse("h", b"onStartup: 1", HookKind.MODULE), "my-module")
    (run,) = dispatch.startup_runs([mine])
    await HookProcesses(settings, Children(Patience())).run(mine, run.contexts, {}, values=Values(b"{}", b"{}"))
    seen = (tmp_path / "seen").read_text().replace(f"{tmp_path}/tmp/", "")
    uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert sorted(re.sub(uuid, "<uuid>", seen).splitlines()) == [
        "ADMISSION_RESPONSE_PATH=hooks-sub-my-hook-sh.module-hook-admission-response-<uuid>.json",
        "BINDING_CONTEXT_PATH=my-module.module-hook-hooks-sub-my-hook-sh-binding-context-<uuid>.json",
        "CONFIG_VALUES_JSON_PATCH_PATH=hooks-sub-my-hook-sh.module-hook-config-values-<uuid>.json-patch",
        "CONFIG_VALUES_PATH=my-module.module-config-values-<uuid>.json",
        "CONVERSION_RESPONSE_PATH=hooks-sub-my-hook-sh.module-hook-conversion-response-<uuid>.json",
        "KUBERNETES_PATCH_PATH=hooks-sub-my-hook-sh-object-patch-<uuid>",
        "METRICS_PATH=hooks-sub-my-hook-sh.module-hook-metrics-<uuid>.json",
        "RUN_AGAIN_PATH=hooks-sub-my-hook-sh.module-hook-run-again-<uuid>",
        "VALIDATING_RESPONSE_PATH=hooks-sub-my-hook-sh.module-hook-admission-response-<uuid>.json",
        "VALUES_JSON_PATCH_PATH=hooks-sub-my-hook-sh.module-hook-values-<uuid>.json-patch",
        "VALUES_PATH=my-module.module-values-<uuid>.json",
    ]


def as_json(element: str) -> bytes:
    """The file with one context, as compact as it is written."""
    return f"[{element}]\n".replace(": ", ":").replace(", ", ",").encode()
