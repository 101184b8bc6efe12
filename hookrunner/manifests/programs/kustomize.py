"""Builds packages that are kustomize directories, by `kubectl kustomize`.

kubectl is in the image. There is no subset of kustomize of our own: the hash in a generated name is only right if
everything else is. The program sees the package's files in an empty directory and has no environment.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from hookrunner.errors import RenderFailed
from hookrunner.manifests.programs.kustomization_checks import check_kustomizations
from hookrunner.manifests.programs.program_runner import Program, ProgramRunner
from hookrunner.manifests.sourced_object import SourcedObject, read_objects

NAME = "kubectl kustomize"


async def build_kustomization(
    files: Mapping[str, bytes], runner: ProgramRunner, hidden: frozenset[str] = frozenset()
) -> tuple[SourcedObject, ...]:
    """Build the kustomization at the top of the files, whose placeholders are replaced; the objects that it leads to.

    Raises RenderFailed: for what is not in the package, and with kustomize's message, in which the words in `hidden` do
    not stand.
    """
    check_kustomizations(files)
    kubectl = find_kubectl()
    with runner.directory() as directory:
        _write(files, directory)
        program = Program(NAME, (str(kubectl), "kustomize", str(directory)), directory)
        try:
            text = await runner.run(program, hidden=hidden)
        except RenderFailed as error:
            raise RenderFailed(str(error).replace(f"{directory}/", "").replace(str(directory), ".")) from None
    return read_objects({NAME: text})


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
