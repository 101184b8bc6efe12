"""What corefile-migration makes of generated Corefiles, recorded: `upstream_answers.txt`, a line for each migration.

python -m tests.corefile.recording     # asks the library again, after a change of the generator or of its version

A line has a digest of the migrated servers, plugins and options, or `error`, a digest of the notices, and whether
the text is a default. The order is that of `migrations()`.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from tests.corefile.generated_corefiles import generated
from tests.corefile.library import releases
from tests.oracles.corefile_migration import Request, answers

RECORDED = Path(__file__).parent / "upstream_answers.txt"
_SEED = 40
_COUNT = 200
_SEVERITIES = ("deprecated", "ignored", "removed")


def migrations() -> list[Request]:
    """Of 200 Corefiles: to the neighbours of their release, and to another one at random."""
    random, names = Random(_SEED), list(releases.VERSIONS)
    requests = []
    for origin, text in generated(_COUNT):
        number = names.index(origin)
        targets = names[max(number - 1, 0) : number] + names[number + 1 : number + 2]
        targets.append(random.choice([name for name in names if name != origin]))
        requests += [Request(origin, target, names.index(target) < number, text) for target in targets]
    return requests


def digest(value: Any) -> str:
    """A few digits that differ for other values."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def structure(answer: dict[str, Any]) -> list[Any]:
    """The servers of an answer in the form of our `structure`."""
    return [
        [
            server["DomPorts"],
            [
                [
                    [plugin["Name"], *(plugin["Args"] or ())],
                    [[_words(option), []] for option in plugin["Options"] or ()],
                ]
                for plugin in server["Plugins"] or ()
            ],
        ]
        for server in answer["servers"]
    ]


def last_severities(notices: Iterable[dict[str, str]]) -> list[list[str]]:
    """What is deprecated, ignored or removed in the end: plugin, option, severity, sorted. Not `protocol` of proxy: the
    library names each of them, and only https_google was removed."""
    last = {
        (notice["Plugin"], notice["Option"]): notice["Severity"]
        for notice in notices
        if notice["Severity"] in _SEVERITIES and notice["Option"] != "protocol"
    }
    return sorted([*key, severity] for key, severity in last.items())


def summary(answer: dict[str, Any]) -> str:
    """The line of an answer."""
    if answer["error"]:
        return "error"
    is_default = "default" if answer["default"] else "own"
    return f"{digest(structure(answer))} {digest(last_severities(answer['notices']))} {is_default}"


def _words(option: dict[str, Any]) -> list[str]:
    """Options that the library has added hold their value in the name."""
    return [*option["Name"].split(), *(option["Args"] or ())]


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{summary(answer)}\n" for answer in answers(migrations())))
