r"""A schema's `pattern` as Go reads it (RE2), made ready for Python's `re`.

The two languages agree on nearly everything that schemas use. What differs is rewritten (`$` is the very end, `\z`,
`\Q…\E`, POSIX classes, `(?<name>…)`), what Go does not take is refused here too, for it would fail
elsewhere. Go matches in linear time, Python may take very long on patterns such as `(a+)+$`.

Source: https://github.com/google/re2/wiki/Syntax
"""

import re

_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\x\{(?P<hex>[0-9A-Fa-f]+)\}|\\(?P<escaped>.)|(?P<set>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^]\\])*\])"
    r"|\(\?(?P<name>P?<\w+>)|\(\?(?P<flags>[imsU]*(?:-[imsU]+)?[:)])|(?P<foreign>\(\?.?|[*+?}][+])|(?P<brace>\{,)|(?P<end>\$)|.",
    re.DOTALL,
)
_SET = re.compile(r"\[:(?P<posix>\^?\w+):\]|\\.|(?P<special>[\[&|~])", re.DOTALL)
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-\x7e",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


def compiled(pattern: str) -> re.Pattern[str]:
    """To `search` with. Raises ValueError saying what is wrong with the pattern."""
    multiline = re.search(r"\(\?[isU]*m", pattern) is not None
    try:
        text = _TOKEN.sub(lambda token: _token(token, multiline), pattern)
        return re.compile(text, re.ASCII)
    except (re.error, OverflowError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None


def _token(token: re.Match[str], multiline: bool) -> str:
    match token.lastgroup:
        case "quoted":
            return re.escape(token["quoted"])
        case "hex":
            return f"\\U{int(token['hex'], 16):08x}"
        case "escaped":
            return _escape(token["escaped"])
        case "set":
            return "[" + _SET.sub(_in_set, token["set"][1:-1]) + "]"
        case "name":
            return f"(?P{token['name'].lstrip('P')}"
        case "foreign":
            raise re.error(f"Go has no {token[0]}")
        case "brace":
            return r"\{,"
        case "end" if not multiline:
            return r"\Z"
    return token[0]


def _escape(char: str) -> str:
    if char in "123456789pPCZGkgK":
        raise re.error(f"\\{char} cannot be used here")
    return r"\Z" if char == "z" else f"\\{char}"


def _in_set(part: re.Match[str]) -> str:
    if part["posix"] and part["posix"] not in _POSIX:
        raise re.error(f"{part[0]} cannot be used here")
    return _POSIX[part["posix"]] if part["posix"] else f"\\{part[0]}" if part["special"] else part[0]
