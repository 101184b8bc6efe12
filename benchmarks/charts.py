"""The modules: 29 small charts of distinct weights, 249 objects in all, one beforeHelm hook each, and two global hooks.

Each has the kinds of objects that modules have, none of which needs a kubelet. In every chart one ConfigMap shows a
value of the module and a global one.
"""

import base64
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks import hooks

CONFIG = "benchmark"
"""The name of the ConfigMap that configures the modules."""

_BUDGETS = 17
"""So many modules have a ninth object."""


def names(count: int) -> list[str]:
    """What that many modules are called."""
    return [f"unit-{chr(ord('a') + number // 26)}{chr(ord('a') + number % 26)}" for number in range(count)]


def key(name: str) -> str:
    """The section of a module's values."""
    return f"unit{name[-2:].capitalize()}"


def shows(name: str) -> str:
    """The ConfigMap of a module that shows its values."""
    return f"{name}-settings"


def write(directory: Path, names: Sequence[str]) -> None:
    """Put `modules/` and `global-hooks/` there. Hooks of modules write the module's name to `$TOLD`, global ones that
    of their binding."""
    modules = directory / "modules"
    for number, name in enumerate(names):
        directory_of_module = modules / f"{number + 1:03}-{name}"
        write_module(directory_of_module, name, objects(name, key(name), number), {"beforeHelm": 1})
    flags = {f"{key(name)}Enabled": True for name in names}
    (modules / "values.yaml").write_text(yaml.safe_dump({"global": {"color": "red"}} | flags))
    both = {f"{type}.sh": hooks.writes({"configVersion": "v1", type: 1}, type) for type in ("beforeAll", "afterAll")}
    hooks.write(directory / "global-hooks", both)


def objects(name: str, section: str, number: int = 0) -> list[dict[str, Any]]:
    """The objects of a module as its templates have them: eight, or nine in the first 17 modules. `section` is the key
    of its values."""
    labels = {"app": name}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
    port = {"name": "http", "port": 80, "targetPort": 8080}
    data = {"size": f"{{{{ .Values.{section}.size }}}}", "color": "{{ .Values.global.color }}"}
    found = [
        _object("v1", "ConfigMap", shows(name), data=data),
        _object("v1", "ConfigMap", f"{name}-dashboard", data={"dashboard.json": json.dumps({"title": name}) * 40}),
        _object("v1", "Secret", name, stringData={"token": f"{name}-token"}),
        _object("v1", "ServiceAccount", name, automountServiceAccountToken=False),
        _object("rbac.authorization.k8s.io/v1", "Role", name, rules=[rule]),
        _object("rbac.authorization.k8s.io/v1", "RoleBinding", name, roleRef=role, subjects=[_account(name)]),
        _object("v1", "Service", name, spec={"clusterIP": "None", "selector": labels, "ports": [port]}),
        _object("apps/v1", "Deployment", name, spec=_deployment(name, labels)),
        _object("policy/v1", "PodDisruptionBudget", name, spec=budget),
    ]
    return found if number < _BUDGETS else found[:-1]


def manifests(name: str, number: int, namespace: str) -> list[tuple[str, dict[str, Any]]]:
    """The objects as they come to the cluster, each after the path of its collection."""
    text = json.dumps(objects(name, key(name), number)).replace("{{ .Release.Namespace }}", namespace)
    return [(collection(obj["apiVersion"], obj["kind"], namespace), obj) for obj in json.loads(text)]


def record(namespace: str, found: list[tuple[str, dict[str, Any]]]) -> tuple[str, dict[str, Any]]:
    """A Secret with these objects in it, as releases have, after the path of its collection."""
    data = base64.b64encode(gzip.compress(json.dumps([obj for _, obj in found]).encode())).decode()
    name = f"record-{found[0][1]['metadata']['name']}"
    return collection("v1", "Secret", namespace), _object("v1", "Secret", name, stringData={"release": data})


def collections(namespace: str) -> list[str]:
    """Paths of lists that together have all objects of all modules, and nothing else."""
    return [
        f"{path}?labelSelector=app" for path in dict.fromkeys(path for path, _ in manifests("unit-aa", 0, namespace))
    ]


def collection(version: str, kind: str, namespace: str) -> str:
    """The path of the objects of a kind, in a namespace unless that is empty."""
    group = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{group}/namespaces/{namespace}/{kind.lower()}s" if namespace else f"{group}/{kind.lower()}s"


def write_module(directory: Path, name: str, found: list[dict[str, Any]], binding: dict[str, int]) -> None:
    """A module with these objects and one hook with this binding, which writes the module's name to `$TOLD`."""
    write_chart(directory, name, found)
    (directory / "values.yaml").write_text(yaml.safe_dump({key(name): {"size": 1}}))
    hooks.write(directory / "hooks", {"hook.sh": hooks.writes({"configVersion": "v1", **binding}, name)})


def write_chart(directory: Path, name: str, found: list[dict[str, Any]]) -> None:
    """A chart with a template for each of these objects."""
    templates = directory / "templates"
    templates.mkdir(parents=True)
    for number, obj in enumerate(found):
        (templates / f"{number:02}-{obj['kind'].lower()}.yaml").write_text(yaml.safe_dump(obj, width=1000))
    (directory / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": name, "version": "0.1.0"}))


def _object(version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": {"app": name}}, **more}


def _account(name: str) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": "{{ .Release.Namespace }}"}


def _deployment(name: str, labels: dict[str, str]) -> dict[str, Any]:
    """None of its pods is wanted."""
    container = {
        "name": "main",
        "image": f"registry.example.com/{name}:v1.0.0",
        "ports": [{"containerPort": 8080, "name": "http"}],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "64Mi"}},
        "envFrom": [{"configMapRef": {"name": shows(name)}}],
    }
    template = {"metadata": {"labels": labels}, "spec": {"serviceAccountName": name, "containers": [container]}}
    return {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
