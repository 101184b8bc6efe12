"""How a shell script reads its contexts: by jq, called with the file BINDING_CONTEXT_PATH or fed by `cat`."""

import re
from collections.abc import Iterator

from hookrunner.linting.reading import Reading

_USE = re.compile(r"\$\{?BINDING_CONTEXT_PATH\b")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_PIPED = re.compile(r"[}\")]*[ \t]*\|[ \t]*jq\b((?:[^'\"\n|;]|'[^']*'|\"(?:\\.|[^\"\\])*\")*)")
_FIRST = re.compile(r"(?<![\w\])])\.\[0]")
_OTHERS = re.compile(r"(?<![\w\])])\.\[(?!0])")
_NEUTRAL = re.compile(r"jq(\s+-\w+)*\s+(?:(\.|'\.'|\"\.\")\s*)?(?:[\"'$({<]+\s*)?$")
_FROM_FILE = re.compile(r"\bjq\b[^\n|]{0,200} (-f|--from-file)\b")
_AWARE = re.compile(r"\bSynchronization\b|\.type\b|[\"']type[\"']|\bobjects\b|\bsnapshots\b|context::")
_GUARD = re.compile(
    r"select\([^)]*\.(?:type|watchEvent|object|binding)\b|\.object\?|has\([^)]*object|[!=]=\s*[\"']?null\b"
    r"|\.(?:object|filterResult)[\w.\s]*//"
)
_CHANGE = re.compile(r"(?<!\w)\.(object|filterResult|watchEvent)\b")


def read(code: str) -> Reading | None:
    """What a script without its comments tells; None if it never opens the contexts itself."""
    uses = list(_USE.finditer(code))
    if not uses:
        return None
    programs = [_program(code, use) for use in uses]
    known = [(place, text) for place, text in programs if text]
    change = max(_CHANGE.finditer(code), key=lambda match: match[1] == "watchEvent", default=None)
    first = {match[1]: match.start() for match in reversed(list(_CHANGE.finditer(code)))}
    return Reading(
        first_only=_first_only(known) if len(known) == len(uses) else None,
        change=change.start() if change else None,
        name=change[1] if change else "",
        aware=bool(_AWARE.search(code)),
        guarded=bool(_GUARD.search(code)),
        closed=len(known) == len(uses) and not _FROM_FILE.search(code),
        objects=first.get("object"),
        filtered=first.get("filterResult"),
    )


def _program(code: str, use: re.Match[str]) -> tuple[int, str]:
    """The jq command that reads the file named here, and where it begins; empty if it is read by something else."""
    if piped := _PIPED.match(code, use.end()):
        return piped.start(1), f"jq{piped[1]}"
    start = code.rfind("jq", 0, use.start())
    command = code[start : use.start()] if start >= 0 else ""
    bare = _QUOTED.sub("", command.rstrip("\"'$({")).replace("\\\n", " ")
    return (start, command) if command and not re.search(r"[|;&\n]", bare) else (0, "")


def _first_only(programs: list[tuple[int, str]]) -> int | None:
    """All of the programs look at element 0, but for those that show the whole text to somebody."""
    places = list(_firsts(programs))
    return None if not places or None in places else places[0]


def _firsts(programs: list[tuple[int, str]]) -> Iterator[int | None]:
    for start, text in programs:
        first = _FIRST.search(text)
        if first and not _OTHERS.search(text):
            yield start + first.start()
        elif not _NEUTRAL.match(text):
            yield None
