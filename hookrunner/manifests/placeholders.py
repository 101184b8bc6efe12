"""Replaces placeholders in the files of a package with values: the key `text` of `addon.yaml` (docs/addon-yaml.md).

    "{{ .DNSDomain }}": dnsDomain
    "{{ .Corefile }}": {value: internal.corefile, indent: 8}

The text is replaced before it is read as YAML, as upstream's operators do, and in one pass: a value that looks like a
placeholder stays as it is. With `indent`, a value of several lines goes on where it stands in the file.
"""

import re
from collections.abc import Mapping, Sequence

import orjson

from hookrunner.errors import MissingValue
from hookrunner.model.addons import Placeholder
from kubetypes.json_values import JSON

TAB = "   "
"""What a tab becomes in an indented value: YAML allows no tabs in indentation."""


def replace_placeholders(
    files: Mapping[str, bytes], placeholders: Sequence[Placeholder], values: JSON
) -> dict[str, bytes]:
    """The files, each placeholder replaced by its value. `values` are the addon's own, as hooks have left them.

    A text goes in as it is, another value as JSON, which is YAML too. Raises MissingValue for a placeholder that stands
    in a file and has no value; others may lack theirs.
    """
    by_text = {placeholder.text.encode(): placeholder for placeholder in placeholders if placeholder.text}
    if not by_text:
        return dict(files)
    longest_first = sorted(by_text, key=lambda text: (-len(text), text))
    pattern = re.compile(b"|".join(map(re.escape, longest_first)))
    replaced = {}
    for path, data in files.items():
        present = frozenset(pattern.findall(data))
        texts = {text: _value_text(by_text[text], values, path) for text in sorted(present)}
        replaced[path] = _replace(pattern, texts, data) if present else data
    return replaced


def _replace(pattern: re.Pattern[bytes], texts: Mapping[bytes, bytes], data: bytes) -> bytes:
    return pattern.sub(lambda match: texts[match[0]], data)


def _value_text(placeholder: Placeholder, values: JSON, path: str) -> bytes:
    """What stands in place of a placeholder; `path` is the file, for messages."""
    value = look_up(values, placeholder.value)
    if value is None:
        raise MissingValue(
            f"{path}: the placeholder {placeholder.text} has no value: "
            f"set {placeholder.value} in the spec, in values.yaml or by a hook"
        )
    if not isinstance(value, str):
        return orjson.dumps(value)
    return (_indented(value, placeholder.indent) if placeholder.indent else value).encode(errors="replace")


def look_up(values: JSON, path: str) -> JSON:
    """The value at a path with points, as placeholders name theirs; None without one."""
    for key in path.split("."):
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _indented(text: str, indent: int) -> str:
    """The text without space at its ends, all lines but the first indented, empty ones left empty."""
    first, *rest = text.strip().replace("\t", TAB).split("\n")
    return "\n".join([first, *(" " * indent + line if line.strip() else "" for line in rest)])
