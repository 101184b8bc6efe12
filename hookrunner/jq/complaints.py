"""libjq's messages without values: it shows the object that a program failed on, or what the program made of it.

A program that reads a Secret decodes and parses what is in it, so the values in a message need not be in the object: no
list of them could be searched for. What is kept are jq's own words, by their vocabulary, and positions; a message in
other words, as `error(.a)` gives, is not repeated at all. The same for programs that do not compile: those of a JQPatch
have values in them.
"""

import re

_VALUE = re.compile(r"(null|boolean|number|string|array|object) \(.*\)")
"""From the first kind with its value to the last bracket; there may be two, and brackets in both."""
_KINDS = re.compile(r"\b(null|boolean|number|string|array|object) \(")
_KEY = re.compile(r"^Cannot index (\w+) with string \(\"(\w+)\"\)$")
_PARSED = re.compile(r" \(while parsing '.*", re.DOTALL)
_LITERAL = re.compile(r" \(while parsing '.*'\)(?= at <top-level>)")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")
_PLACE = re.compile(r"\bat (?:EOF at )?(?:<top-level>, )?line \d+, column \d+")
_TOKEN = re.compile(r"[\w']+")
_WORDS = (
    "a abandoned added after an and another argument arguments array arrays as ascii assigned at base64 be because "
    "boolean bounds by can can't cannot capture carry check codepoint column contains count csv data date datetime "
    "deep deeply delete depth divided divisor does doesn't element elements empty end endswith eof escaped exceeded "
    "expected explode exploded expression failure field fields flatten for format formatted from fromjson given "
    "gmtime group grouped has have implode imploded in incomplete index indexed indices infinity input inputs into "
    "invalid is it iterate join json key keys large length limit limits line literal long ltrimstr match matched "
    "maximum mktime modifier multiplied must name nan needs negated negative nesting no not null number numbers "
    "numeric object objects of only or out outside over parenthesis parsed parsing path paths pattern program range "
    "regex remainder repeat requires result row rtrimstr shell should slice sorted split start startswith strftime "
    "string strings strptime subtracted such support supported than that the their them time to tojson token tonumber "
    "too tostring try trying tsv unfinished unicode unmatched update use utf valid value values whether which while "
    "with without zero "
)
_VOCABULARY = frozenset(_WORDS.split())
_LONGEST = 2000
"""Characters of a message that may be jq's own: it shortens values. What `error` raises may be as long as an object."""
_UNKNOWN = "the program has raised an error, which is not repeated here: it may hold parts of the object"


def of_failure(message: str, program: str) -> str:
    """What was wrong with an object: `Cannot iterate over string`, `string and number cannot be added`. A key is named
    if the program has it in a path."""
    if len(message) > _LONGEST:
        return _UNKNOWN
    if (key := _KEY.match(message)) and re.search(rf"\.{key[2]}\b", program):
        return message
    text = _QUOTED.sub("…", _VALUE.sub(_kinds, _PARSED.sub("", message)))
    words = _TOKEN.findall(_PLACE.sub("", text))
    return text if words and all(word.lower() in _VOCABULARY for word in words) else _UNKNOWN


def of_syntax(message: str) -> str:
    """Why a program does not compile, its line numbers as the user sees them (`worker.BEFORE` is one). The program
    itself, which libjq shows below, is left out."""
    if "_available/0 is not defined" in message:
        return "`input` and `inputs` cannot be used: a filter sees one object, `.`"
    lines = [line for line in message.splitlines() if line.startswith(("jq: error", "jq: Unknown"))]
    lines = [_LITERAL.sub("", line.removeprefix("jq: error: ").removeprefix("jq: ")).rstrip(":") for line in lines]
    text = "; ".join(lines)
    return re.sub(r"(?<=at <top-level>, line )\d+", lambda number: str(int(number.group()) - 1), text or _UNKNOWN)


def _kinds(match: re.Match[str]) -> str:
    return " and ".join(_KINDS.findall(match[0])[:2])
