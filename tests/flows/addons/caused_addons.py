"""Addons whose instances get into every state that a status can show: what their packages, channels and hooks do
wrong is in their names.

Objects are named after their instance (`of-NAME`), so that many instances live side by side in one namespace.
"""

from collections.abc import Mapping
from hashlib import sha256

from hookrunner.packages.package import parse_package
from tests.flows.modules.world import World

GROUP = "causes.example.com"
_TEXT = 'text: {"{{ .Name }}": addon.name, "{{ .Text }}": text, "{{ .Mode }}": mode}\n'
_SPEC = "type: object\nproperties: {text: {type: string, default: hi}, mode: {type: string}}\n"
_VALUES = "type: object\nproperties: {text: {type: string, maxLength: 20}}\n"
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "of-{{ .Name }}"}
data: {text: "{{ .Text }}", package: PACKAGE}
"""
_POD = (
    '{metadata: {labels: {of: "{{ .Name }}"}}, spec: {nodeSelector: {disk: none}, containers: [{name: a, image: a}]}}'
)
STUCK = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: "of-{{{{ .Name }}}}"}}
spec:
  progressDeadlineSeconds: 5
  selector: {{matchLabels: {{of: "{{{{ .Name }}}}"}}}}
  template: {_POD}
"""
JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: "of-{{{{ .Name }}}}"}}
spec:
  activeDeadlineSeconds: 1
  template: {_POD.replace("nodeSelector", "restartPolicy: Never, nodeSelector")}
"""
LATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "of-{{ .Name }}"}
spec:
  minReadySeconds: 3600
  progressDeadlineSeconds: 3601
  selector: {matchLabels: {of: "{{ .Name }}"}}
  template: {metadata: {labels: {of: "{{ .Name }}"}}, spec: {containers: [{name: a, image: a}]}}
"""
DEPLOYED = LATE.replace("  minReadySeconds: 3600\n", "")
REFUSED = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "of-{{ .Name }}-too"}\ndata: {"no key": a}\n'
TAKEN = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "taken-{{ .Text }}"}\n'
TWICE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: twin}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: twin, namespace: kube-system}
"""
KEPT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "of-{{ .Name }}-kept", annotations: {helm.sh/resource-policy: keep}}
"""
HELD = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "of-{{ .Name }}-held", finalizers: [example.com/held]}\n'
ITSELF = f'apiVersion: {GROUP}/v1alpha1\nkind: Plain\nmetadata: {{name: "{{{{ .Name }}}}"}}\n'
UNKNOWN = 'apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: "of-{{ .Name }}"}\n'
ANNOTATED = MAP.replace('{{ .Name }}"', '{{ .Name }}", annotations: {addons.k8s.io/min-operator-version: 99.0.0}')

PACKAGES: Mapping[str, Mapping[str, str]] = {
    "1.0.0": {},
    "2.0.0": {},
    "untested": {"package.yaml": 'testedKubernetes: "<1.0"\n'},
    "newer-cluster": {"package.yaml": 'kubernetes: ">=99"\n'},
    "newer-hookrunner": {"package.yaml": 'hookrunner: ">=99"\n'},
    "annotated": {"objects.yaml": ANNOTATED},
    "far": {"package.yaml": 'upgradesFrom: ">=5"\n'},
    "malformed": {"package.yaml": "kubernetes: 3\n"},
    "large": {"more.yaml": "#" * (5 * 2**20 + 1)},
    "unset": {"more.yaml": "# {{ .Mode }}\n"},
    "itself": {"more.yaml": ITSELF},
    "unknown": {"more.yaml": UNKNOWN},
    "twice": {"more.yaml": TWICE},
    "refused": {"more.yaml": REFUSED},
    "taken": {"more.yaml": TAKEN},
    "late": {"more.yaml": LATE},
    "deployed": {"more.yaml": DEPLOYED},
    "stuck": {"more.yaml": STUCK},
    "job": {"more.yaml": JOB},
    "kept": {"more.yaml": KEPT},
    "held": {"more.yaml": HELD},
}
"""What a package has besides its ConfigMap, by its version."""
CHANNELS = {
    "stable": "manifests: [{version: 1.0.0}]\n",
    "moving": "manifests: [{version: 1.0.0}]\n",
    "vanishing": "manifests: [{version: 1.0.0}]\n",
    "none": 'manifests: [{version: 1.0.0, kubernetesVersion: "<1.0"}]\n',
    "pinned": f'manifests: [{{version: 1.0.0, digest: "sha256:{"0" * 64}"}}]\n',
    "odd": "manifests: 3\n",
}
HOOK = """\
#!/bin/sh
if [ "$1" = --config ]; then echo '{"configVersion": "v1", "beforeHelm": 1}'; exit; fi
if grep -q '"text":"fail"' "$ADDON_OBJECT_PATH"; then echo 'no luck today' >&2; exit 1; fi
if grep -q '"text":"report"' "$ADDON_OBJECT_PATH"; then
  echo '{"type": "Troubled", "status": "True", "message": "there is trouble", "healthy": false}' >> "$CONDITIONS_PATH"
fi
while grep -q '"text":"wait"' "$ADDON_OBJECT_PATH" && ! [ -e "$TOLD/go" ]; do sleep 0.1; done
"""
NEEDY = """\
requires:
  kubernetes: ">=99"
  kinds: [example.com/v1/Nothing]
  modules: [no-module]
  addons: [no-addon]
  objects: [{apiVersion: v1, kind: ConfigMap, namespace: default, name: no-object}]
"""
_ADDONS = {
    "plain": ("Plain", "instances: many\npatches: [{kind: ConfigMap, paths: [data]}]\n"),
    "onward": ("Onward", "instances: many\ndowngrade: refuse\n"),
    "lenient": ("Lenient", "instances: many\nunmatchedPatches: warn\n"),
    "hooked": ("Hooked", "instances: many\n"),
    "remote": ("Remote", "instances: many\n"),
    "lax": ("Lax", "instances: many\ndriftDetection: warn\n"),
    "needy": ("Needy", NEEDY),
    "single": ("Single", "exclusive: side\n"),
    "rival": ("Rival", "exclusive: side\n"),
}
"""The kind of each addon, and what it is."""


def write_addons(world: World, base: str) -> None:
    """All addons, below `addons`; that called remote has its packages at this address."""
    for name, (kind, traits) in _ADDONS.items():
        source = f"source: {base if name == 'remote' else '../../channels'}\ncomponent: thing\n"
        text = f"object: {{kind: {kind}, group: {GROUP}}}\n{source}{traits}{_TEXT}"
        files = {"addon.yaml": text, "openapi/spec.yaml": _SPEC, "openapi/values.yaml": _VALUES}
        for path, content in files.items():
            world.write(f"addons/{name}/{path}", content)
    world.write("addons/hooked/hooks/hook", HOOK)
    for name, text in CHANNELS.items():
        world.write(f"channels/{name}", text)
    for version, more in PACKAGES.items():
        for path, text in package_files(version, more).items():
            world.write(f"channels/packages/thing/{version}/{path}", text)


def package_files(version: str, files: Mapping[str, str]) -> dict[str, str]:
    """A package with a ConfigMap and these files."""
    return {path: text.replace("PACKAGE", version) for path, text in ({"objects.yaml": MAP} | dict(files)).items()}


def web_files(version: str, files: Mapping[str, str], has_sums: bool = True) -> dict[str, str]:
    """The same on a web server, by path."""
    own = package_files(version, files)
    sums = "".join(f"{sha256(text.encode()).hexdigest()}  {path}\n" for path, text in own.items())
    own |= {"SHA256SUMS": sums} if has_sums else {"manifest.yaml": own.pop("objects.yaml")}
    return {f"/packages/thing/{version}/{path}": text for path, text in own.items()}


def digest_of(version: str, files: Mapping[str, str]) -> str:
    """The digest of such a package."""
    own = {path: text.encode() for path, text in package_files(version, files).items()}
    return parse_package("thing", version, own).digest
