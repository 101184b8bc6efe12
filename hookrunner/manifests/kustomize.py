"""Builds packages that are kustomize directories, by `kubectl kustomize`, after a look at what they ask for.

kubectl is in the image. There is no subset of kustomize of our own: the hash in a generated name is only right if
everything else is. The program sees the package's files in an empty directory and has no environment.

Everything that a kustomization names must be a file or a directory of the package, so that a build needs no network and
its result follows from the package's digest. Helm charts and plugins run programs; kubectl has them switched off, and
here the message says what to do instead. Keys are compared as Go's JSON decoder does, which ignores case.
https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/
"""

import posixpath
import shutil
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hookrunner import redaction
from hookrunner.errors import RenderFailed
from hookrunner.manifests.placeholders import PlaceholderValues, is_document
from hookrunner.manifests.program_runner import Program, ProgramRunner
from hookrunner.manifests.sourced_object import SourcedObject, read_objects
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents

NAME = "kubectl kustomize"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""File names by which kustomize knows a directory."""

_PATHS = ("resources", "bases", "components", "crds", "configurations", "patchesstrategicmerge")
_PLUGINS = ("generators", "transformers", "validators")
_WITH_PATH = ("patches", "patchesjson6902", "replacements", "openapi")
_GENERATORS = ("configmapgenerator", "secretgenerator")
_HELM = ("helmcharts", "helmglobals", "helmchartinflationgenerator")
_NO_HELM = "Helm charts are not rendered in a kustomization; ship the chart as a package of its own"
_BUILTIN = "builtin"
"""The apiVersion of kustomize's own plugins, which run no program."""


_INLINE = frozenset((*_PLUGINS, "patch", "jsonop", "patches", "patchesstrategicmerge"))
"""Keys, in lowercase, under which a text may be a document itself; the second half are plugins' and patches' own."""
_YAML = (".yaml", ".yml", ".json")


def replace_placeholders(files: Mapping[str, bytes], values: PlaceholderValues) -> dict[str, bytes]:
    """The package's files with values in place of placeholders. Only what a generator puts into a ConfigMap or Secret
    as it is, and what does not have the name of a YAML file, is no YAML. Raises MissingValue, BadManifest."""
    yaml = {path: data for path, data in files.items() if path.endswith(_YAML) or _is_kustomization(path)}
    replaced = values.replace_in_yaml(yaml, _INLINE)
    contents, variables = _generated(replaced, "files"), _generated(replaced, "envs", "env")
    others = {path: data for path, data in files.items() if path not in yaml}
    texts = {path: data for path, data in others.items() if path in contents | variables}
    rest = {path: data for path, data in others.items() if path not in texts}
    return replaced | values.replace_in_texts(texts, variables) | values.replace_in_yaml(rest, _INLINE)


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


def check_kustomizations(files: Mapping[str, bytes]) -> None:
    """Raises RenderFailed, naming file and key, if a kustomization of the package cannot be built from it alone."""
    package = _PackageFiles(files, frozenset(parent for path in files for parent in _parents(path)))
    for path in sorted(files):
        if _is_kustomization(path):
            for problem in _problems(path, package):
                raise RenderFailed(f"{path}: {problem}")


@dataclass(frozen=True, slots=True)
class _PackageFiles:
    """The files of a package, and all directories that they are in."""

    files: Mapping[str, bytes]
    directories: Container[str]

    def problem_of(self, place: str) -> str:
        """Why a normal path is nothing of the package; "" if it is."""
        if place == ".." or place.startswith(("../", "/")):
            return "leads outside of the package; copy it into the package"
        if place != "." and place not in self.files and place not in self.directories:
            return "is not in the package; what is elsewhere is not fetched, copy it into the package"
        return ""


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path


def _problems(path: str, package: _PackageFiles) -> Iterator[str]:
    try:
        found = list(documents(package.files[path], YAML_1_1))
    except BadDocument as error:
        yield str(error)
        return
    for content in found:
        if not isinstance(content, dict):
            yield f"a kustomization is a map, not {redaction.described(content)}"
            return
        for key, value in content.items():
            problems = _key_problems(key.casefold(), value, posixpath.dirname(path), package)
            yield from (f"{key}: {problem}" for problem in problems)


def _key_problems(key: str, value: JSON, directory: str, package: _PackageFiles) -> Iterator[str]:
    """What is wrong with a key's value; `key` in lowercase."""
    if key in _HELM:
        yield _NO_HELM
    for named in _named(key, value):
        place = posixpath.normpath(posixpath.join(directory, named))
        if problem := package.problem_of(place):
            yield f"'{named}' {problem}"
        elif key in _PLUGINS:
            yield from _plugin_problems(named, package.files.get(place, b""))
    if key in _PLUGINS:
        inline = (item for item in _list(value) if isinstance(item, str) and is_document(item))
        yield from (problem for text in inline for problem in _plugin_problems("inline", text.encode(errors="replace")))


def _generated(files: Mapping[str, bytes], *keys: str) -> frozenset[str]:
    """The files that generators, or plugins that are generators, name under these keys."""
    found = set[str]()
    for path, data in files.items():
        for document in _maps(_read(data)):
            generators = [document, *(item for key in _GENERATORS for item in _maps(document.get(key)))]
            named = (item for generator in generators for key in keys for item in _sources(generator, key))
            found |= {posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) for name in named}
    return frozenset(found)


def _read(data: bytes) -> list[JSON]:
    """The documents of a file; none if it is not YAML, which is reported elsewhere."""
    try:
        return list(documents(data, YAML_1_1))
    except BadDocument:
        return []


def _is_kustomization(path: str) -> bool:
    return posixpath.basename(path) in KUSTOMIZATIONS


def _sources(generator: Mapping[str, JSON], key: str) -> Iterator[str]:
    """The files that a generator names under a key: a list, or one as in `env`. `name=path` names the content."""
    value = generator.get(key)
    for source in value if isinstance(value, list) else [value]:
        if isinstance(source, str):
            yield source.rpartition("=")[2]


def _named(key: str, value: JSON) -> Iterator[str]:
    """The files and directories that a key names; `key` in lowercase."""
    if key in (*_PATHS, *_PLUGINS):
        yield from (item for item in _list(value) if isinstance(item, str) and not is_document(item))
    elif key in _WITH_PATH:
        yield from (path for item in _maps(value) if isinstance(path := item.get("path"), str))
    elif key in _GENERATORS:
        for item in _maps(value):
            yield from (source for name in ("files", "envs", "env") for source in _sources(item, name))


def _plugin_problems(name: str, text: bytes) -> Iterator[str]:
    """A plugin must be one of kustomize's own; of others, an annotation may name a program or an image."""
    try:
        configured = list(documents(text, YAML_1_1))
    except BadDocument as error:
        yield f"'{name}': {error}"
        return
    if not configured:
        yield f"'{name}' is no file with plugins; name files, not directories"
    for plugin in configured:
        if not isinstance(plugin, dict) or plugin.get("apiVersion") != _BUILTIN:
            yield f"'{name}': only plugins with apiVersion builtin are run; do it by an executable in postRender"
        elif str(plugin.get("kind")).casefold() in _HELM:
            yield f"'{name}': {_NO_HELM}"


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _maps(value: JSON) -> Iterator[dict[str, JSON]]:
    """The maps in a list, or the map itself, with keys in lowercase."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield {key.casefold(): inner for key, inner in item.items()}
