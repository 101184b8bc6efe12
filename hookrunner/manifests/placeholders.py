"""Replaces placeholders in the files of a package with values: the key `text` of `addon.yaml` (docs/addon-yaml.md).

    "{{ .DNSDomain }}": dnsDomain
    "{{ .Corefile }}": {value: internal.corefile, indent: 8}

No text of a value can end the YAML scalar that it is put into; otherwise, the right to set a value would be the right
to create any object. So values are never inserted into the text of a YAML file. Each placeholder first becomes a word
that may stand anywhere in YAML (to a scanner, `clusterIP: {{ .DNSIP }}` has no text). Then each scalar that contains
such a word is written again, with its values, in one line that every YAML parser reads alike. The rest of the file
stays as it is.

Files that are not YAML, such as the Corefile of a kustomization, get the texts as they are.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import orjson
import yaml

from hookrunner.errors import BadManifest, MissingValue
from hookrunner.manifests.yaml_writer import flow
from hookrunner.model.addons import Placeholder
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_LINE_END = re.compile("[\n\r\x85\u2028\u2029]")
_COLLECTIONS = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_LITERAL = "|"
_BLOCKS = (_LITERAL, ">")


class PlaceholderValues:
    """Placeholders with their values. `values` are the addon's own, as hooks have left them.

    A placeholder that stands in a file and has no value raises MissingValue; others may lack theirs. Placeholders are
    replaced in one pass: a value that looks like a placeholder stays as it is.
    """

    def __init__(self, placeholders: Iterable[Placeholder], values: JSON) -> None:
        self._by_text = {placeholder.text: placeholder for placeholder in placeholders if placeholder.text}
        self._values = values
        longest_first = sorted(self._by_text, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._bytes = re.compile(self._pattern.pattern.encode())

    def replace_in_yaml(self, files: Mapping[str, bytes], inline: frozenset[str] = frozenset()) -> dict[str, bytes]:
        """YAML files, with values in place of placeholders: alone, a placeholder becomes the value, inside a text the
        value's text, or its JSON. Documents in texts under the keys `inline`, in lowercase, are YAML as well. Raises
        MissingValue, BadManifest for a file that is not YAML."""
        return {
            path: self._yaml(path, data, inline) if self._bytes.search(data) else data for path, data in files.items()
        }

    def replace_in_texts(self, files: Mapping[str, bytes], lines: frozenset[str] = frozenset()) -> dict[str, bytes]:
        """Files that are not YAML, with texts, or JSON, in place of placeholders. In `lines`, each line has a meaning
        of its own. Raises MissingValue, BadManifest for a text with a line end in one of `lines`."""
        return {path: self._text(path, data, path in lines) for path, data in files.items()}

    def _yaml(self, path: str, data: bytes, inline: frozenset[str]) -> bytes:
        try:
            text = data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise BadManifest(f"{path}: is not UTF-8, so placeholders in it cannot be replaced") from None
        for placeholder in dict.fromkeys(self._pattern.findall(text)):
            self._value(path, placeholder)
        return self._rewritten(path, text, inline).encode()

    def _rewritten(self, path: str, text: str, inline: frozenset[str], column: int = 0) -> str:
        """The YAML text, each scalar with placeholders written again. `column` is where the text begins in its file."""
        marked = _Marked.of(text, self._pattern)
        pieces, end = list[str](), 0
        try:
            for scalar in _scalars(marked.text):
                if marked.word.search(scalar.value):
                    written = self._scalar(path, marked, scalar, inline, column)
                    pieces += [marked.original(marked.text[end : scalar.start]), written]
                    end = scalar.end
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise BadManifest(f"{path}: not YAML: line {line}: {error.problem}") from None
        except yaml.YAMLError as error:
            raise BadManifest(f"{path}: not YAML: {' '.join(str(error).split())}") from None
        return "".join([*pieces, marked.original(marked.text[end:])])

    def _scalar(self, path: str, marked: "_Marked", scalar: "_Scalar", inline: frozenset[str], column: int) -> str:
        """What stands in place of a scalar, with the line end that belonged to it."""
        alone = marked.word.fullmatch(scalar.value) if scalar.is_plain and not scalar.is_key else None
        if alone:
            return flow(self._value(path, marked.placeholder(alone)))
        indent = column + marked.block_indent(scalar)
        is_inline = scalar.key.casefold() in inline and not scalar.is_key
        if is_inline and is_document(scalar.value):
            text = self._rewritten(path, marked.original(scalar.value), inline, indent)
        else:
            block_indent = indent if scalar.is_literal else None
            text = marked.word.sub(
                lambda word: self._inserted(path, marked.placeholder(word), block_indent), scalar.value
            )
            if is_inline and is_document(text):
                raise BadManifest(
                    f"{path}: {scalar.key}: a value would make a document of a name; remove its line ends"
                )
        return flow(scalar.chomped(text)) + ("\n" if scalar.has_line_end else "")

    def _inserted(self, path: str, placeholder: str, block_indent: int | None) -> str:
        """A value as a part of a text. `block_indent` is the indentation of the block in which it stands, if it is in
        one: YAML takes that much from each line."""
        value = self._value(path, placeholder)
        if not isinstance(value, str):
            return orjson.dumps(value).decode()
        if not (indent := self._by_text[placeholder].indent):
            return value
        return _indented(value, 0 if block_indent is None else max(0, indent - block_indent))

    def _text(self, path: str, data: bytes, one_line: bool) -> bytes:
        def inserted(match: re.Match[bytes]) -> bytes:
            placeholder = match[0].decode()
            text = self._inserted(path, placeholder, block_indent=0)
            if one_line and _LINE_END.search(text):
                raise BadManifest(
                    f"{path}: each line is a variable, and {self._by_text[placeholder].value} has a line end; "
                    f"remove it, or put {placeholder} into a file of its own"
                )
            return text.encode()

        return self._bytes.sub(inserted, data)

    def _value(self, path: str, placeholder: str) -> JSON:
        """The value of a placeholder; `path` is the file, for messages."""
        source = self._by_text[placeholder].value
        value = look_up(self._values, source)
        if value is None:
            raise MissingValue(
                f"{path}: the placeholder {placeholder} has no value: "
                f"set {source} in the spec, in values.yaml or by a hook"
            )
        # Halves of surrogate pairs, which UTF-8 does not have, are replaced.
        return value.encode(errors="replace").decode() if isinstance(value, str) else value


def look_up(values: JSON, path: str) -> JSON:
    """The value at a path with points, as placeholders name theirs; None without one."""
    for key in path.split("."):
        values = values.get(key) if isinstance(values, dict) else None
    return values


def is_document(text: str) -> bool:
    """Does kustomize read this text as a document, where a file's name may stand as well?"""
    if _LINE_END.search(text):
        return True
    try:
        return any(isinstance(token, _COLLECTIONS) for token in yaml.scan(text, Loader=yaml.CSafeLoader))
    except yaml.YAMLError:
        return False


def _indented(text: str, indent: int) -> str:
    """The text without space at its ends, all lines but the first indented, empty ones left empty."""
    first, *rest = text.strip().replace("\r\n", "\n").split("\n")
    return "\n".join([first, *(" " * indent + line if line.strip() else "" for line in rest)])


@dataclass(frozen=True, slots=True)
class _Marked:
    """A text in which words take the place of placeholders: the n-th word stands for the n-th of `placeholders`."""

    text: str
    word: re.Pattern[str]
    placeholders: tuple[str, ...]

    @classmethod
    def of(cls, text: str, pattern: re.Pattern[str]) -> "_Marked":
        prefix = "placeholder"
        while prefix in text:
            prefix += "x"
        placeholders = tuple(pattern.findall(text))
        numbers = iter(range(len(placeholders)))
        marked = pattern.sub(lambda _: f"{prefix}{next(numbers)}w", text)
        return cls(marked, re.compile(rf"{prefix}([0-9]+)w"), placeholders)

    def placeholder(self, word: re.Match[str]) -> str:
        return self.placeholders[int(word[1])]

    def original(self, part: str) -> str:
        """A part of the text with its placeholders."""
        return self.word.sub(self.placeholder, part)

    def block_indent(self, scalar: "_Scalar") -> int:
        """How many columns YAML takes from each line of a literal block: a word's column in the file less its column
        in the value."""
        word = self.word.search(scalar.value)
        if not (scalar.is_literal and word):
            return 0
        return _column(self.text, self.text.index(word[0], scalar.start)) - _column(scalar.value, word.start())


def _column(text: str, index: int) -> int:
    return index - text.rfind("\n", 0, index) - 1


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A scalar of a YAML text and its position in characters. `key` is the nearest key, of the mapping around it;
    `header` is the first line of a block, empty for other scalars."""

    value: str
    start: int
    end: int
    key: str
    is_key: bool
    is_plain: bool
    header: str
    has_line_end: bool

    @property
    def is_literal(self) -> bool:
        return self.header.startswith(_LITERAL)

    def chomped(self, text: str) -> str:
        """A text in place of the value, with as many line ends at its end as the header of a block keeps: `+` all, `-`
        none, else one."""
        header = self.header.partition("#")[0]
        if not header or "+" in header:
            return text
        stripped = text.rstrip("\n")
        return stripped if "-" in header or not stripped else f"{stripped}\n"


def _scalars(text: str) -> Iterator[_Scalar]:
    """All scalars of all documents. Raises yaml.YAMLError."""
    keys, is_key = [""], False
    for token in yaml.scan(text, Loader=yaml.CSafeLoader):
        match token:
            case yaml.BlockMappingStartToken() | yaml.FlowMappingStartToken():
                keys.append("")
                is_key = False
            case yaml.BlockSequenceStartToken() | yaml.FlowSequenceStartToken():
                keys.append(keys[-1])
                is_key = False
            case yaml.BlockEndToken() | yaml.FlowMappingEndToken() | yaml.FlowSequenceEndToken():
                del keys[max(1, len(keys) - 1) :]
            case yaml.KeyToken() | yaml.ValueToken():
                is_key = isinstance(token, yaml.KeyToken)
            case yaml.ScalarToken():
                if is_key:
                    keys[-1] = token.value
                yield _to_scalar(text, token, keys[-1], is_key)
                is_key = False


def _to_scalar(text: str, token: yaml.ScalarToken, key: str, is_key: bool) -> _Scalar:
    start, end = token.start_mark.index, token.end_mark.index
    return _Scalar(
        value=token.value,
        start=start,
        end=end,
        key=key,
        is_key=is_key,
        is_plain=token.plain,
        header=text[start : text.find("\n", start)] if token.style in _BLOCKS else "",
        has_line_end=text[start:end].endswith("\n"),
    )
