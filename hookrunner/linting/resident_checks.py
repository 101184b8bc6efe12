"""Checks of resident hooks, by starting one of their processes: hello, and the end. No run is played, since an invented
one might change something.
"""

import re
from dataclasses import replace

from hookrunner.hooks.catalog import Silence
from hookrunner.kube.cluster_lookup import without_cluster
from hookrunner.linting.findings import Remark
from hookrunner.linting.hook_source import Source
from hookrunner.model.bindings import Hook
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings

_ANSWERS = re.compile(r"--resident|hook::serve")


async def check_resident(source: Source, hook: Hook, settings: HooksSettings, children: Children) -> list[Remark]:
    """What is wrong with how it says hello and ends; nothing for a hook that is not resident."""
    if hook.config.settings.resident is None:
        return []
    # Lint of other hooks need not pay for the import.
    from hookrunner.hooks.resident.line_carrier import find_problem

    alone = replace(settings, environ=without_cluster(settings.environ))
    problem = await find_problem(alone, hook, children, Silence())
    if not problem:
        return []
    place = source.text.find("resident")
    advice = "" if _ANSWERS.search(source.text) else "; the file does nothing about the argument --resident"
    return [Remark("resident", max(place, 0), f"{problem}{advice}; see docs/hook-protocol.md")]
