"""Reads a Corefile as a tree whose parts know where they stand, and changes its text there: everything else, comments
and indentation included, stays as it was written.

    servers = parse(text)
    text = changed(text, [deleted(text, servers[0].children[3])])

The rules are those of CoreDNS' own reader, https://github.com/coredns/caddy/tree/master/caddyfile: words between white
space, in quotes if they hold some; `{` and `}` are words like others, also in quotes; a comment begins at `#`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_WORD = re.compile(r'(?P<comment>#[^\n]*)|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s"#][^\s#]*)(?:#\S*)?', re.DOTALL)
_SPACE = re.compile(r"[ \t]*")
INDENT = "    "
_MOST_BRACES = 20
"""CoreDNS' own plugins need three; this program calls itself for each."""


class Unreadable(ValueError):
    """A Corefile that CoreDNS would refuse; the message names the line."""


class Word(NamedTuple):
    """A word without its quotes; `start` and `end` are offsets in the text, lines count from 1."""

    text: str
    start: int
    end: int
    line: int
    last_line: int


class Node(NamedTuple):
    """A server, a plugin or an option: its words, and what stands in its braces. `children` is None without braces, and
    those of a server without braces are all lines up to the end. `end` is the offset behind the last of it, `closing`
    that of its closing brace, -1 without."""

    words: tuple[Word, ...]
    children: "tuple[Node, ...] | None"
    end: int
    closing: int

    @property
    def name(self) -> str:
        return self.words[0].text

    @property
    def arguments(self) -> list[str]:
        return [word.text for word in self.words[1:]]

    @property
    def start(self) -> int:
        return self.words[0].start

    @property
    def line(self) -> int:
        return self.words[0].line

    @property
    def inner(self) -> "tuple[Node, ...]":
        """What stands in its braces; empty without."""
        return self.children or ()

    @property
    def snippet(self) -> str:
        """The name under which `import` finds it; empty for a server."""
        return self.name[1:-1] if len(self.words) == 1 and re.fullmatch(r"\(.*\)", self.name) else ""


Edit = tuple[int, int, str]
"""A part of the text, by offsets, and what replaces it."""


def parse(text: str) -> list[Node]:
    """The servers and snippets of a Corefile. Raises Unreadable."""
    words = list(_words(text))
    _check_depth(words)
    servers: list[Node] = []
    index = 0
    while index < len(words):
        node, index = _server(words, index)
        servers.append(node)
    return servers


def structure(servers: Iterable[Node]) -> list[list[object]]:
    """The content of a Corefile, without its form: for each node its words and, in a list, those in its braces."""
    return [[[word.text for word in node.words], structure(node.inner)] for node in servers]


def changed(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap; of several at one place the first one comes first."""
    parts, position = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[0]):
        parts += [text[position:start], new]
        position = end
    return "".join([*parts, text[position:]])


def deleted(text: str, node: Node) -> Edit:
    """The edit that takes a node away, with its lines and the comment behind it if nothing else stands there."""
    begin, end = _line_start(text, node.start), _line_end(text, node.end)
    rest = text[node.end : end].strip()
    if text[begin : node.start].strip() or (rest and not rest.startswith("#")):
        return node.start, node.end, ""
    return begin, min(end + 1, len(text)), ""


def without_options(text: str, node: Node, options: Sequence[Node]) -> list[Edit]:
    """The edits that take options away; without any left, and without a comment, the braces go too."""
    after_words = node.words[-1].end
    if len(options) == len(node.inner) and "#" not in text[after_words : node.end]:
        return [(after_words, node.end, "")]
    return [deleted(text, option) for option in options]


def added(text: str, node: Node, line: str, inner: str = "") -> Edit:
    """The edit that puts a line at the end of what stands in the braces of a node, which gets them if it has none;
    `inner` is a line in braces of its own."""
    own = indent_of(text, node)
    siblings = [indent_of(text, child) for child in node.inner if _is_first(text, child.start)]
    indent = siblings[-1] if siblings else own + (own or INDENT)
    lines = f"{indent}{line}" + (f" {{\n{indent}{indent}{inner}\n{indent}}}" if inner else "")
    if node.children is None:
        return node.words[-1].end, node.words[-1].end, f" {{\n{lines}\n{own}}}"
    if node.closing < 0:  # a server without braces
        end = _line_end(text, node.end)
        return end, end, f"\n{lines}"
    if _is_first(text, node.closing):
        begin = _line_start(text, node.closing)
        return begin, begin, f"{lines}\n"
    return node.closing, node.closing, f"\n{lines}\n{own}"


def indent_of(text: str, node: Node) -> str:
    """The white space with which its line begins."""
    indent = _SPACE.match(text, _line_start(text, node.start))
    return indent[0] if indent else ""


def with_comment(text: str, node: Node) -> int:
    """The offset behind a node and the comment on its last line."""
    end = _line_end(text, node.end)
    return end if text[node.end : end].lstrip().startswith("#") else node.end


def _words(text: str) -> Iterator[Word]:
    position, line = (1 if text.startswith("\ufeff") else 0), 1
    while position < len(text):
        if text[position].isspace():
            line += text[position] == "\n"
            position += 1
            continue
        if not (match := _WORD.match(text, position)):
            raise Unreadable(f"line {line}: a quote is opened and not closed")
        position = match.end()
        if match["comment"] is None:
            quoted = match["quoted"]
            word = match["plain"] if quoted is None else quoted.replace('\\"', '"')
            last_line = line + (quoted or "").count("\n")
            end = match.end("plain") if quoted is None else position
            yield Word(word, match.start(), end, line, last_line)
            line = last_line


def _check_depth(words: Iterable[Word]) -> None:
    depth = 0
    for word in words:
        depth += (word.text == "{") - (word.text == "}")
        if depth > _MOST_BRACES:
            raise Unreadable(f"line {word.line}: more than {_MOST_BRACES} braces are open")


def _server(words: list[Word], index: int) -> tuple[Node, int]:
    """The server, the snippet or the import that begins at an index, and the index behind it."""
    names: list[Word] = []
    while index < len(words) and words[index].text != "{":
        is_continued = not names or names[-1].text.endswith(",") or words[index].line == names[-1].last_line
        if not is_continued:
            break
        if words[index].text == "}":
            raise Unreadable(f"line {words[index].line}: '}}' closes nothing")
        names.append(words[index])
        index += 1
    if not names:
        raise Unreadable(f"line {words[index].line}: no address of a server before '{{'")
    if names[-1].text.endswith(","):
        raise Unreadable(f"line {names[-1].line}: another address is missing after ','")
    if index == len(words) or names[0].text == "import":
        return Node(tuple(names), None, names[-1].end, -1), index
    if words[index].text == "{":
        return _block(words, index, names)
    children, index = _nodes(words, index, None)
    return Node(tuple(names), children, words[index - 1].end, -1), index


def _block(words: list[Word], index: int, names: list[Word]) -> tuple[Node, int]:
    """The node with these words and the braces that open at an index, and the index behind it."""
    children, closing = _nodes(words, index + 1, words[index])
    last = words[closing]
    return Node(tuple(names), children, last.end, last.start), closing + 1


def _nodes(words: list[Word], index: int, opened: Word | None) -> tuple[tuple[Node, ...], int]:
    """The nodes up to a closing brace, or to the end if none was opened, and the index of that."""
    nodes: list[Node] = []
    while index < len(words) and not (opened and words[index].text == "}"):
        node, index = _node(words, index, bool(opened))
        nodes.append(node)
    if opened and index == len(words):
        raise Unreadable(f"line {opened.line}: '{{' is not closed")
    return tuple(nodes), index


def _node(words: list[Word], index: int, is_nested: bool) -> tuple[Node, int]:
    names: list[Word] = []
    while index < len(words) and (not names or words[index].line == names[-1].last_line):
        if words[index].text == "}" and is_nested and names:
            break
        if words[index].text == "}" or (words[index].text == "{" and not names):
            raise Unreadable(f"line {words[index].line}: '{words[index].text}' in an unexpected place")
        if words[index].text == "{":
            return _block(words, index, names)
        names.append(words[index])
        index += 1
    if index < len(words) and words[index].text == "{":
        raise Unreadable(f"line {words[index].line}: '{{' must stand on the line of what it belongs to")
    return Node(tuple(names), None, names[-1].end, -1), index


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def _is_first(text: str, offset: int) -> bool:
    """Is there only white space before it on its line?"""
    return not text[_line_start(text, offset) : offset].strip()
