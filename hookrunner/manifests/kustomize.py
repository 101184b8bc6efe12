"""Builds packages that are kustomize directories, by `kubectl kustomize`, after a look at what they ask for.

kubectl is in the image. There is no subset of kustomize of our own: the hash in a generated name is only right if
everything else is. The program sees the package's files in an empty directory and nothing of our environment.

Everything that a kustomization names must be a file or a directory of the package, so that a build needs no network and
its result follows from the package's digest. Helm charts and plugins run programs; kubectl has them switched off, and
here the message names what to use instead (see `kustomization_files.py`).
https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from hookrunner.errors import RenderFailed
from hookrunner.manifests.kustomization_files import (
    PLUGINS,
    check_kustomizations,
    generated_from,
    is_kustomization,
    read_as_yaml,
)
from hookrunner.manifests.large_texts import TEXTS, size_of
from hookrunner.manifests.placeholders import PlaceholderValues
from hookrunner.manifests.program_runner import Program, ProgramRunner
from hookrunner.manifests.sourced_object import read_objects
from hookrunner.model.sourced_objects import SourcedObject
from hookrunner.process.pure_calls import call_by_size

NAME = "kubectl kustomize"

_NOWHERE = "http://127.0.0.1:1"
_ENVIRONMENT = {"HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE, "PATH": "/nonexistent"}
"""An address that passes the check by mistake is not fetched: the proxy does not exist, and there is no git. The check
is needed all the same, because addresses of this machine are never reached through a proxy."""

_INLINE = frozenset((*PLUGINS, "patch", "jsonop", "patches", "patchesstrategicmerge"))
"""Keys, in lowercase, under which a text may be a document itself; the second half are plugins' and patches' own."""
_YAML = (".yaml", ".yml", ".json")


def replace_placeholders(files: Mapping[str, bytes], values: PlaceholderValues) -> dict[str, bytes]:
    """The package's files with values in place of placeholders. No YAML is only what a generator puts into a ConfigMap
    or Secret as it is, does not have the name of a YAML file, and is not read as YAML elsewhere. Raises MissingValue,
    BadManifest."""
    yaml = {path: data for path, data in files.items() if path.endswith(_YAML) or is_kustomization(path)}
    replaced = values.replace_in_yaml(yaml, _INLINE)
    contents, variables = generated_from(replaced, "files"), generated_from(replaced, "envs", "env")
    others = {path: data for path, data in files.items() if path not in yaml}
    texts = {path: data for path, data in others.items() if path in (contents | variables) - read_as_yaml(replaced)}
    rest = {path: data for path, data in others.items() if path not in texts}
    return replaced | values.replace_in_texts(texts, variables) | values.replace_in_yaml(rest, _INLINE)


async def build_kustomization(
    files: Mapping[str, bytes], runner: ProgramRunner, hidden: frozenset[str] = frozenset()
) -> tuple[SourcedObject, ...]:
    """Build the kustomization at the top of the files, whose placeholders are replaced; the objects that it leads to.

    Raises RenderFailed: for what is not in the package, and with kustomize's message, in which the words in `hidden` do
    not stand.
    """
    await call_by_size(size_of(files), TEXTS, check_kustomizations, files)
    return await run_kustomize(files, runner, hidden)


async def run_kustomize(
    files: Mapping[str, bytes], runner: ProgramRunner, hidden: frozenset[str] = frozenset()
) -> tuple[SourcedObject, ...]:
    """The same without a look at what the kustomization names."""
    kubectl = find_kubectl()
    with runner.directory() as directory:
        _write(files, directory)
        program = Program(NAME, (str(kubectl), "kustomize", str(directory)), directory, _ENVIRONMENT)
        try:
            text = await runner.run(program, hidden=hidden)
        except RenderFailed as error:
            raise RenderFailed(str(error).replace(f"{directory}/", "").replace(str(directory), ".")) from None
    return await call_by_size(len(text), TEXTS, read_objects, {NAME: text})


def find_kubectl() -> Path:
    """The program. Raises RenderFailed if it is not on PATH."""
    if path := shutil.which("kubectl"):
        return Path(path).absolute()
    raise RenderFailed(
        f"{NAME}: there is no kubectl on PATH; install it, or ship the package as a chart or as plain files"
    )


def _write(files: Mapping[str, bytes], directory: Path) -> None:
    for path, data in files.items():
        if path.startswith("/") or ".." in path.split("/"):
            raise RenderFailed(f"{NAME}: the path '{path}' leads outside of the package")
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
