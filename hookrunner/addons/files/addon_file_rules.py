"""What `addon.yaml` may hold: types of its keys, and rules for values of the right type.

`addon.schema.json` says the same for editors, as far as JSON Schema can.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import get_args

from hookrunner.addons.instance_fields import SHAPES, WITH_DEFAULT_IN_FILE, text_problems
from hookrunner.manifests.field_paths import parse_path
from hookrunner.model.addons import CrdOrigin, Downgrade, Instances, Scope, UnmatchedPatches
from hookrunner.model.units import Drift
from hookrunner.modules import traits
from hookrunner.modules.traits import REQUIRES
from hookrunner.packages.names import COMPONENT_PATTERN, LONGEST_NAME
from hookrunner.shapes import ANY_VALUE, FLAG, TEXT, TEXTS, Integer, Many, Problem, Table, Text, check
from kubetypes.json_values import JSON

NEVER = "never"
"""A value of `adopt` here: no instance can set it."""

OBJECT = Table(
    {
        "kind": TEXT,
        "plural": TEXT,
        "group": TEXT,
        "version": TEXT,
        "scope": Text(get_args(Scope)),
        "shortNames": Many(TEXT, at_least=0),
        "crd": Text(get_args(CrdOrigin)),
    },
    required={"kind": "CoreDNS"},
    open=True,
)
REQUIRED_OBJECT = Table(
    {"apiVersion": TEXT, "kind": TEXT, "namespace": TEXT, "name": TEXT},
    required={"apiVersion": "v1", "kind": "Service", "name": "kube-dns"},
    open=True,
)
REQUIREMENTS = Table(
    {
        **REQUIRES.keys,
        "kinds": Many(TEXT, at_least=0),
        "addons": Many(TEXT, at_least=0),
        "objects": Many(REQUIRED_OBJECT, at_least=0),
    },
    open=True,
)
PATCH_RULE = Table(
    {"kind": TEXT, "name": TEXT, "paths": Many(TEXT)},
    required={"kind": "Deployment", "paths": "[spec.template.spec.containers[*].args]"},
    open=True,
)
FILE = Table(
    {
        "object": OBJECT,
        "description": TEXT,
        "component": TEXT,
        "source": TEXT,
        "instances": Text(get_args(Instances)),
        "exclusive": TEXT,
        "requires": REQUIREMENTS,
        "text": Table({}, open=True),
        "labels": TEXTS,
        "postRender": Many(TEXT, at_least=0),
        "application": FLAG,
        "patches": Many(PATCH_RULE, at_least=0),
        "unmatchedPatches": Text(get_args(UnmatchedPatches)),
        "downgrade": Text(get_args(Downgrade)),
        "driftDetection": Text(get_args(Drift)),
        **{name: SHAPES[name] for name in WITH_DEFAULT_IN_FILE},
        "adopt": ANY_VALUE,
    },
    required={"object": "{kind: CoreDNS}"},
    open=True,
)
PLACEHOLDER = Table({"value": TEXT, "indent": Integer(0, 100)}, required={"value": "internal.corefile"}, open=True)

_DNS_LABEL = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+"
_KIND = r"[A-Z][A-Za-z0-9]{0,62}"
_SMALL = "lowercase letters, digits and -, beginning with a letter, at most 63"
_RULES: Mapping[tuple[str, ...], tuple[str, str]] = {
    ("object", "kind"): (_KIND, "letters and digits, beginning with a capital letter, at most 63"),
    ("object", "plural"): (_DNS_LABEL, _SMALL),
    ("object", "group"): (rf"(?=.{{1,253}}\Z){_SUBDOMAIN}", "a domain such as addons.x-k8s.io"),
    ("object", "version"): (_DNS_LABEL, "a version of an API such as v1alpha1"),
    ("object", "shortNames"): (_DNS_LABEL, _SMALL),
    ("component",): (
        rf"(?!.*\.\.)(?=.{{1,{LONGEST_NAME}}}\Z){COMPONENT_PATTERN}",
        "lowercase letters, digits, - and ., at most 63",
    ),
    ("source",): (r"\S(.*\S)?", "a directory, or a location such as https://example.com/addons"),
    ("exclusive",): (rf"({_DNS_LABEL})?", "a word such as cni"),
    ("requires", "kinds"): (
        rf"([a-z0-9.-]+/)?{_DNS_LABEL}/{_KIND}",
        "group/version/Kind, or v1/Kind in the core group",
    ),
    ("requires", "addons"): (_DNS_LABEL, "the name of an addon's directory"),
    ("postRender",): (r"[^\0]+", "the path of an executable in the addon's directory"),
}
"""Texts at these keys, or in lists at these keys: a pattern, and what to write."""

_LABEL_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = re.compile(rf"([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_LABEL_NAME}", re.ASCII)
_LABEL_VALUE = re.compile(rf"({_LABEL_NAME})?", re.ASCII)
"""Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""

_PATH = re.compile(r"[^.\s]+(\.[^.\s]+)*")
_HOOKS = "hooks"


def file_problems(document: JSON) -> Iterator[Problem]:
    """Everything that is wrong with the content of an `addon.yaml`."""
    yield from check(document, FILE)
    if not isinstance(document, dict):
        return
    yield from _wrong_texts(document)
    yield from text_problems({name: document.get(name) for name in WITH_DEFAULT_IN_FILE})
    yield from traits.requires_problems(document.get("requires"))
    yield from _placeholder_problems(document.get("text"))
    yield from _label_problems(document.get("labels"))
    yield from _post_render_problems(document.get("postRender"))
    yield from _patch_problems(document.get("patches"))
    if "adopt" in document and not (isinstance(document["adopt"], bool) or document["adopt"] == NEVER):
        yield Problem("adopt", f"must be of type boolean, or {NEVER}; write true, false or {NEVER}")


def _wrong_texts(document: Mapping[str, JSON]) -> Iterator[Problem]:
    for keys, (pattern, advice) in _RULES.items():
        value: JSON = document
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        path = ".".join(keys)
        texts = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, text in texts:
            if isinstance(text, str) and not re.fullmatch(pattern, text, re.ASCII):
                at = path if index is None else f"{path}[{index}]"
                yield Problem(at, f"cannot be {_quoted(text)}; write {advice}")


def _quoted(text: str) -> str:
    return f"'{text}'" if len(text) <= 100 and text.isprintable() else f"a text of {len(text)} characters"


def _placeholder_problems(placeholders: JSON) -> Iterator[Problem]:
    for placeholder, value in placeholders.items() if isinstance(placeholders, dict) else ():
        path = f"text[{_quoted(placeholder)}]"
        if not placeholder.strip():
            yield Problem("text", "has an empty placeholder; write the text to replace")
        if isinstance(value, str):
            yield from _value_path_problems(value, path)
        elif isinstance(value, dict):
            yield from check(value, PLACEHOLDER, path)
            yield from _value_path_problems(value.get("value"), f"{path}.value")
        else:
            yield Problem(path, "must be the path of a value, or {value: PATH, indent: NUMBER}")


def _value_path_problems(path: JSON, at: str) -> Iterator[Problem]:
    if isinstance(path, str) and not _PATH.fullmatch(path):
        yield Problem(
            at, f"cannot be {_quoted(path)}; write the path of a value with points, such as internal.corefile"
        )


def _label_problems(labels: JSON) -> Iterator[Problem]:
    for key, value in labels.items() if isinstance(labels, dict) else ():
        if not _LABEL_KEY.fullmatch(key):
            yield Problem("labels", f"cannot have the key {_quoted(key)}; write a label's name such as k8s-app")
        if isinstance(value, str) and not _LABEL_VALUE.fullmatch(value):
            yield Problem(f"labels.{key}", "is no value of a label: letters, digits, - _ and ., at most 63")


def _post_render_problems(paths: JSON) -> Iterator[Problem]:
    for index, path in enumerate(paths if isinstance(paths, list) else ()):
        parts = PurePosixPath(path).parts if isinstance(path, str) else ("x",)
        if path == "" or ".." in parts or PurePosixPath(*parts).is_absolute():
            yield Problem(f"postRender[{index}]", "leads out of the addon's directory; write a path inside it")
        elif parts[0] == _HOOKS:
            yield Problem(f"postRender[{index}]", "is in hooks/, where it would run as a hook; move it to render/")


def _patch_problems(rules: JSON) -> Iterator[Problem]:
    """A path that no rule can mean would silently allow nothing."""
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        fields = rule if isinstance(rule, dict) else {}
        kind, paths = fields.get("kind"), fields.get("paths")
        if isinstance(kind, str) and not re.fullmatch(_KIND, kind, re.ASCII):
            yield Problem(f"patches[{index}].kind", f"cannot be {_quoted(kind)}; write a kind such as Deployment")
        for number, path in enumerate(paths if isinstance(paths, list) else ()):
            try:
                parse_path(path if isinstance(path, str) else "x")
            except ValueError as error:
                yield Problem(f"patches[{index}].paths[{number}]", f"cannot be {_quoted(path)}; {error}")
