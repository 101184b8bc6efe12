"""What kustomizations name: files and directories, by their own keys and by the configurations of plugins.

    check_kustomizations(files)                  # raises RenderFailed for what is elsewhere, and for what runs programs
    generated_from(files, "envs", "env")         # frozenset({"web.env"}): files that generators read by these keys

A plugin of kustomize's own reads files as the keys of a kustomization do, so both are read by one function. kustomize
asks the network for each name that is an address, and first so: `http://x/y` is asked for although the package has a
directory `http:`. So addresses are refused whether the package has such a file or not.

Keys are compared as Go's JSON decoder does, which ignores case; of a key that is there in two spellings, both count.
Source: `fileloader.go`, `repospec.go` and `plugins/builtinhelpers` in https://github.com/kubernetes-sigs/kustomize
"""

import posixpath
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import field

import yaml

from hookrunner import redaction
from hookrunner.errors import RenderFailed
from hookrunner.manifests.placeholders import is_document
from kubetypes.bounds import TooLarge
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents, events

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""File names by which kustomize knows a directory."""
PLUGINS = ("generators", "transformers", "validators")
"""Keys, in lowercase, whose texts are configurations of plugins, or name files with them."""

_NAMES = frozenset(
    ("resources", "bases", "components", "crds", "configurations", "env", "envs", "path", "targetfilepath")
)
_SOURCES = "files"
"""Names as `key=path`; everywhere else, an equals sign belongs to the name."""
_PATCHES = frozenset(("patchesstrategicmerge", "paths"))
"""Patches as texts, or names of files with them."""
_MAPS = frozenset(("patches", "patchesjson6902", "replacements", "openapi", "configmapgenerator", "secretgenerator"))
"""Maps, or lists of maps, with such keys."""
_HELM = ("helmcharts", "helmglobals", "helmchartinflationgenerator")
_NO_HELM = "Helm charts are not rendered in a kustomization; ship the chart as a package of its own"
_BUILTIN = "builtin"
"""The apiVersion of kustomize's own plugins, which run no program."""
_KINDS = frozenset(
    (
        "AnnotationsTransformer",
        "ConfigMapGenerator",
        "HashTransformer",
        "IAMPolicyGenerator",
        "ImageTagTransformer",
        "LabelTransformer",
        "NamespaceTransformer",
        "PatchJson6902Transformer",
        "PatchStrategicMergeTransformer",
        "PatchTransformer",
        "PrefixSuffixTransformer",
        "PrefixTransformer",
        "ReplacementTransformer",
        "ReplicaCountTransformer",
        "SecretGenerator",
        "SuffixTransformer",
        "ValueAddTransformer",
    )
)
"""Plugins whose keys are known here: a new one may name files by another key."""
_ADDRESS = re.compile(r"(git::)?((https?|ssh|file):|[a-z][a-z0-9-]*@[^/:]*[/:]|github\.com[/:])", re.IGNORECASE)
"""How names begin that kustomize may take for a web address or a git repository."""


def is_kustomization(path: str) -> bool:
    """Does a file at this path make its directory a kustomization?"""
    return posixpath.basename(path) in KUSTOMIZATIONS


def check_kustomizations(files: Mapping[str, bytes]) -> None:
    """Raises RenderFailed, naming file and key, if a kustomization of the package cannot be built from it alone."""
    package = _PackageFiles(files, frozenset(parent for path in files for parent in _parents(path)))
    for path in filter(is_kustomization, sorted(files)):
        for problem in _problems(path, package):
            raise RenderFailed(f"{path}: {problem}")


def generated_from(files: Mapping[str, bytes], *keys: str) -> frozenset[str]:
    """The files that generators, as keys of kustomizations and as plugins, name under these keys in lowercase."""
    found = set[str]()
    for path in filter(is_kustomization, files):
        directory = posixpath.dirname(path)
        for document in _maps(_read(files[path])):
            texts = (text for key, value in document.items() for text in _plugin_texts(key, value))
            configurations = dict(_configuration(text, directory, files) for text in texts)
            plugins = (plugin for data in configurations.values() for plugin in _maps(_read(data)))
            named = (item for configured in (document, *plugins) for item in _named(configured))
            found |= {_place(directory, name) for _, key, name in named if key in keys}
    return frozenset(found)


def read_as_yaml(files: Mapping[str, bytes]) -> frozenset[str]:
    """The files that kustomizations name by keys that are not a generator's: a value that chooses a generator's file
    must not choose how another is read."""
    found = set(generated_from(files, *(_NAMES | _PATCHES) - {"env", "envs"}))
    for path in filter(is_kustomization, files):
        for document in _maps(_read(files[path])):
            texts = (text for key, value in document.items() for text in _plugin_texts(key, value))
            found |= {_place(posixpath.dirname(path), text) for text in texts if not _is_inline(text)}
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _PackageFiles:
    """The files of a package, and all directories that they are in."""

    files: Mapping[str, bytes]
    directories: Container[str]
    plugins: dict[str, list[JSON]] = field(default_factory=dict)
    """Configurations that were read, by their path or text."""
    checked: set[tuple[str, str]] = field(default_factory=set)
    """Those, with the directory, in which nothing was wrong."""

    def problem_of(self, directory: str, name: str) -> str:
        """Why a name in a kustomization of this directory is nothing of the package; "" if it is."""
        place = _place(directory, name)
        if place == ".." or place.startswith(("../", "/")):
            return f"'{name}' leads outside of the package; copy it into the package"
        if place != "." and place not in self.files and place not in self.directories:
            return f"'{name}' is not in the package; what is elsewhere is not fetched, copy it into the package"
        if _ADDRESS.match(name):
            return f"'{name}' is an address to kustomize, which would fetch it; write ./{name} for the file"
        return ""


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path


def _place(directory: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(directory, name))


def _problems(path: str, package: _PackageFiles) -> Iterator[str]:
    directory = posixpath.dirname(path)
    try:
        found = _read_strictly(package.files[path])
    except BadDocument as error:
        yield str(error)
        return
    for document in found:
        if not isinstance(document, dict):
            yield f"a kustomization is a map, not {redaction.described(document)}"
            return
        yield from _name_problems(document, directory, package)
        for key, value in document.items():
            if key.casefold() in _HELM:
                yield f"{key}: {_NO_HELM}"
            for text in _plugin_texts(key, value):
                yield from (f"{key}: {problem}" for problem in _plugin_problems(text, directory, package))


def _name_problems(configured: Mapping[str, JSON], directory: str, package: _PackageFiles) -> Iterator[str]:
    """What is wrong with what a kustomization of this directory, or a plugin in it, names."""
    for top, _, name in _named(configured):
        if problem := package.problem_of(directory, name):
            yield f"{top}: {problem}"


def _named(configured: Mapping[str, JSON]) -> Iterator[tuple[str, str, str]]:
    """The names of files and directories in a kustomization or in the configuration of a plugin: the key at the top as
    it is written, the one at the name in lowercase, the name."""
    for top, value in configured.items():
        yield from ((top, key, name) for key, name in _names_under(top.casefold(), value))


def _names_under(key: str, value: JSON) -> Iterator[tuple[str, str]]:
    if key in _MAPS:
        for item in _maps(value):
            for inner, content in item.items():
                yield from _names_under(inner.casefold(), content)
    elif key == _SOURCES:
        yield from ((key, text.rpartition("=")[2]) for text in _texts(value))
    elif key in _PATCHES:
        yield from ((key, text) for text in _texts(value) if not is_document(text))
    elif key in _NAMES:
        yield from ((key, text) for text in _texts(value))


def _plugin_texts(key: str, value: JSON) -> Iterator[str]:
    """What a key of a kustomization names or contains as configurations of plugins."""
    if key.casefold() in PLUGINS:
        yield from _texts(value)


def _is_inline(text: str) -> bool:
    """Is this a configuration, not a name? kustomize tries to read it first."""
    return is_document(text) or any(isinstance(document, dict | list) for document in _read(_encoded(text)))


def _configuration(text: str, directory: str, files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The configurations of plugins that a text is or names, by the text or the path: one file may have many names."""
    if _is_inline(text):
        return text, _encoded(text)
    place = _place(directory, text)
    return place, files.get(place, b"")


def _plugin_problems(text: str, directory: str, package: _PackageFiles) -> Iterator[str]:
    name = "inline" if _is_inline(text) else text
    if name == text and (problem := package.problem_of(directory, text)):
        yield problem
        return
    key, data = _configuration(text, directory, package.files)
    if (key, directory) in package.checked:
        return
    try:
        plugins = package.plugins[key] = package.plugins.get(key) or _read_strictly(data)
    except BadDocument as error:
        yield f"'{name}': {error}"
        return
    if not plugins:
        yield f"'{name}' is no file with plugins; name files, not directories"
    for plugin in plugins:
        yield from (f"'{name}': {problem}" for problem in _configuration_problems(plugin, directory, package))
    package.checked.add((key, directory))


def _configuration_problems(plugin: JSON, directory: str, package: _PackageFiles) -> Iterator[str]:
    """A plugin must be one of kustomize's own; of others, an annotation may name a program or an image. Its names begin
    at the directory of the kustomization, wherever its file is."""
    if not isinstance(plugin, dict) or plugin.get("apiVersion") != _BUILTIN:
        yield "only plugins with apiVersion builtin are run; do it by an executable in postRender"
        return
    kind = str(plugin.get("kind"))
    if kind.casefold() in _HELM:
        yield _NO_HELM
    elif "items" in plugin:
        yield "a list of plugins is not read; write each as a document of its own"
    elif kind not in _KINDS:
        yield f"kustomize has no plugin {kind}; use one of {', '.join(sorted(_KINDS))}"
    else:
        yield from _name_problems(plugin, directory, package)


def _read_strictly(data: bytes) -> list[JSON]:
    """The documents of a file. Raises BadDocument, also for `<<`: if a mapping has a key by itself and by `<<`, one of
    kustomize's parsers takes the later one, the other one and ours take the mapping's own."""
    found = list(documents(data, YAML_1_1))
    try:
        merges = any(isinstance(event, yaml.ScalarEvent) and event.value == "<<" for event in events(data))
    except TooLarge as error:
        raise BadDocument(1, str(error)) from None
    if merges:
        raise BadDocument(1, "`<<` is not read in a kustomization; write the keys themselves")
    return found


def _read(data: bytes) -> list[JSON]:
    """The documents of a file; none if it is not YAML, which is reported elsewhere."""
    try:
        return list(documents(data, YAML_1_1))
    except BadDocument:
        return []


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _texts(value: JSON) -> Iterator[str]:
    """The texts in a list, or the text itself."""
    yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))


def _maps(value: JSON) -> Iterator[dict[str, JSON]]:
    """The maps in a list, or the map itself."""
    yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict))
