"""Read a jq program of the simple kind into a tree, or say that it is not simple.

Simple programs are paths, constants, constructors, pipes, commas, comparisons, `and`, `or`, `//` and a few named
filters. Everything outside that raises `NotSimple`, also what is merely doubtful (`..`, `?//`, arithmetic, long
numbers, interpolation): libjq then decides, and its error messages are the ones a user sees. Nothing is evaluated here.

Source of the grammar: https://jqlang.org/manual/, checked against libjq by tests/jq/test_compiler.py.
"""

import re
from typing import Any

import orjson

from kubetypes.light_dataclasses import dataclass


class NotSimple(Exception):
    """The program, or how it would have to run, is outside of what this process does by itself."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`.`"""


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, a non-negative integer of at most 15 digits, `true`, `false` or `null`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Index:
    """`.key` of an object or `.[3]` of an array."""

    key: str | int


@dataclass(frozen=True, slots=True)
class Slice:
    """`.[1:3]` of an array or a string."""

    start: int | None
    stop: int | None


@dataclass(frozen=True, slots=True)
class Iterate:
    """`.[]`"""


@dataclass(frozen=True, slots=True)
class Try:
    """`body?`: an error ends the body's outputs. After a path step it covers that step only, as in libjq."""

    body: "Node"


@dataclass(frozen=True, slots=True)
class Pipe:
    """`a | b | c`, and the steps of a path."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Comma:
    """`a, b, c`"""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Binary:
    """`left // right`, a comparison, `and`, `or`."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Array:
    """`[body]` or `[]`"""

    body: "Node | None"


@dataclass(frozen=True, slots=True)
class Object:
    """`{key: value, …}`; a key is a constant or a path."""

    entries: "tuple[tuple[Node, Node], ...]"


@dataclass(frozen=True, slots=True)
class Call:
    """A named filter, with its one argument if it takes one."""

    name: str
    argument: "Node | None" = None


Node = Identity | Constant | Index | Slice | Iterate | Try | Pipe | Comma | Binary | Array | Object | Call

WORDS: dict[str, Any] = {"null": None, "true": True, "false": False}
PLAIN = frozenset({"empty", "keys", "length", "not", "type"})
WITH_ARGUMENT = frozenset({"has", "map", "select"})
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
STEPS = (Index, Slice, Iterate)

# What keeps the recursion of the parser, the compiler and the compiled program far from Python's limit.
MOST_TOKENS = 250
DEEPEST = 20

TOKEN = re.compile(
    r"""
      (?P<space> [ \t\r\n]+ | \#[^\\\r\n]*(?=\n|\Z) )
    | (?P<field> \.[A-Za-z_][A-Za-z0-9_]* )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<integer> (?:0|[1-9][0-9]{0,14})(?![0-9.A-Za-z_]) )
    | (?P<string> "(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*" )
    | (?P<mark> //(?!=) | \?(?!//) | == | != | <=? | >=? | \.(?!\.) | [\[\](){}:,|-] )
    """,
    re.VERBOSE | re.ASCII,
)


def parse(program: str) -> Node:
    """The tree of a simple program. Raises `NotSimple` for every other text, whether libjq would take it or not."""
    parser = _Parser(_tokens(program))
    tree = parser.pipe()
    parser.expect("end")
    return tree


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str


def _tokens(program: str) -> list[Token]:
    tokens: list[Token] = []
    position = depth = 0
    while position < len(program):
        match = TOKEN.match(program, position)
        if match is None or match.lastgroup is None:
            raise NotSimple
        position = match.end()
        if match.lastgroup == "space":
            continue
        text = match.group()
        # A mark is its own kind, so that the parser asks for "[" as it asks for "string".
        tokens.append(Token(text if match.lastgroup == "mark" else match.lastgroup, text))
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if depth > DEEPEST or len(tokens) > MOST_TOKENS:
            raise NotSimple
    return [*tokens, Token("end", "")]


class _Parser:
    """Recursive descent, one method per precedence level, loosest first."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0

    def take(self, *kinds: str) -> Token | None:
        """The next token if it is one of `kinds`, else None and nothing is consumed."""
        token = self._tokens[self._next]
        if token.kind not in kinds:
            return None
        self._next += 1
        return token

    def take_word(self, *words: str) -> Token | None:
        """The same for a name with one of these spellings."""
        return self.take("name") if self._tokens[self._next].text in words else None

    def expect(self, kind: str) -> Token:
        token = self.take(kind)
        if token is None:
            raise NotSimple
        return token

    def pipe(self) -> Node:
        return self._several("|", self._comma, Pipe)

    def _comma(self) -> Node:
        return self._several(",", self._alternative, Comma)

    def _several(self, mark: str, part: "Any", kind: type[Pipe] | type[Comma]) -> Node:
        parts = [part()]
        while self.take(mark):
            parts.append(part())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def _alternative(self) -> Node:
        left = self._or()
        return Binary("//", left, self._alternative()) if self.take("//") else left

    def _or(self) -> Node:
        left = self._and()
        while self.take_word("or"):
            left = Binary("or", left, self._and())
        return left

    def _and(self) -> Node:
        left = self._comparison()
        while self.take_word("and"):
            left = Binary("and", left, self._comparison())
        return left

    def _comparison(self) -> Node:
        left = self._term()
        operator = self.take(*COMPARISONS)
        return Binary(operator.text, left, self._term()) if operator else left

    def _term(self) -> Node:
        parts = [self._start()]
        while step := self._step():
            if not isinstance(step, Try):
                parts.append(step)
            elif isinstance(parts[-1], Try):
                raise NotSimple  # `.a??`: the second covers more than the first
            elif isinstance(parts[-1], STEPS):
                parts[-1] = Try(parts[-1])
            else:
                parts = [Try(parts[0])]
        if isinstance(parts[0], Constant) and len(parts) > 1:
            raise NotSimple
        return parts[0] if len(parts) == 1 else Pipe(tuple(parts))

    def _start(self) -> Node:
        if field := self.take("field"):
            return Index(field.text[1:])
        if self.take("."):
            string = self.take("string")
            return Index(_unquoted(string)) if string else Identity()
        if self.take("("):
            # A pipe of one part keeps `(.a.b)?` apart from `.a.b?`.
            return self._closed(Pipe((self.pipe(),)), ")")
        if self.take("["):
            return Array(None) if self.take("]") else self._closed(Array(self.pipe()), "]")
        if self.take("{"):
            return self._record()
        return self._literal()

    def _closed(self, node: Node, mark: str) -> Node:
        self.expect(mark)
        return node

    def _literal(self) -> Node:
        if string := self.take("string"):
            return Constant(_unquoted(string))
        if integer := self.take("integer"):
            return Constant(int(integer.text))
        name = self.expect("name").text
        if name in WORDS:
            return Constant(WORDS[name])
        if name in PLAIN:
            return Call(name)
        if name in WITH_ARGUMENT:
            self.expect("(")
            return self._closed(Call(name, self.pipe()), ")")
        raise NotSimple

    def _step(self) -> Node | None:
        """One step of a path, or `Try(Identity())` for a question mark."""
        if self.take("?"):
            return Try(Identity())
        if field := self.take("field"):
            return Index(field.text[1:])
        if self.take("["):
            return self._bracket()
        if self.take("."):
            return self._after_dot()
        return None

    def _after_dot(self) -> Node:
        """libjq takes `.a.[0]` and `.a.[]`, but not `.a.[1:]`."""
        if not self.take("["):
            return Index(_unquoted(self.expect("string")))
        step = self._bracket()
        if isinstance(step, Slice):
            raise NotSimple
        return step

    def _bracket(self) -> Node:
        if self.take("]"):
            return Iterate()
        if string := self.take("string"):
            return self._closed(Index(_unquoted(string)), "]")
        start = self._position()
        if self.take(":"):
            stop = self._position()
            if start is None and stop is None:
                raise NotSimple
            return self._closed(Slice(start, stop), "]")
        if start is None:
            raise NotSimple
        return self._closed(Index(start), "]")

    def _position(self) -> int | None:
        """An array position, perhaps negative. libjq keeps positions in a C int, so ten digits are left to it."""
        negative = self.take("-")
        integer = self.expect("integer") if negative else self.take("integer")
        if integer is None:
            return None
        if len(integer.text) > 9:
            raise NotSimple
        return -int(integer.text) if negative else int(integer.text)

    def _record(self) -> Node:
        entries: list[tuple[Node, Node]] = []
        if self.take("}"):
            return Object(())
        entries.append(self._entry())
        while self.take(","):
            entries.append(self._entry())
        return self._closed(Object(tuple(entries)), "}")

    def _entry(self) -> tuple[Node, Node]:
        if self.take("("):
            key = self._closed(self.pipe(), ")")
            self.expect(":")
            return key, self._value()
        name = self.take("name")
        text = name.text if name else _unquoted(self.expect("string"))
        return Constant(text), self._value() if self.take(":") else Index(text)

    def _value(self) -> Node:
        return self._several("|", self._alternative, Pipe)


def _unquoted(string: Token) -> str:
    try:
        text: str = orjson.loads(string.text)
    except orjson.JSONDecodeError:
        raise NotSimple from None  # half a surrogate pair
    return text
