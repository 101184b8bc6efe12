"""What a hook wrote, as an `Answer`: all files are read and understood before anything of it is done (§7.0)."""

import os
from contextlib import suppress

from hookrunner.errors import BadOutput
from hookrunner.hooks import metric_operations, patches, value_patches, verdicts
from hookrunner.hooks.workspace import Workspace
from hookrunner.hooks.workspace import read as read_file
from hookrunner.model.operations import Answer, ObjectOperation
from hookrunner.model.values import PatchOperation


def read(files: Workspace) -> Answer:
    """The answer of a run that ended well. Raises BadOutput naming the file, the document and the mend."""
    values = files.values
    return Answer(
        config=_of_values(values.config_patch, "CONFIG_VALUES_JSON_PATCH_PATH") if values else (),
        values=_of_values(values.values_patch, "VALUES_JSON_PATCH_PATH") if values else (),
        metrics=metric_operations.parse(read_file(files.metrics)),
        admission=verdicts.admission(read_file(files.admission)),
        conversion=verdicts.conversion(read_file(files.conversion)),
        objects=patches.parse(read_file(files.patch)),
    )


def size(files: Workspace) -> int:
    """Bytes that there are to read, as far as the files are there."""
    total = 0
    for path in files.answers:
        with suppress(OSError):
            total += os.stat(path).st_size
    return total


def _of_values(path: str, variable: str) -> tuple[PatchOperation, ...]:
    """Raises BadOutput."""
    try:
        return value_patches.parse(text) if (text := read_file(path)) else ()
    except BadOutput as error:
        raise BadOutput(f"{variable}: {error}") from None


def despite_failure(files: Workspace) -> list[ObjectOperation]:
    """The status patches marked `ignoreHookError`, which are done although the hook failed (§7.1). Raises BadOutput."""
    operations = patches.parse(read_file(files.patch))
    return [one for one in operations if one.ignore_hook_error and one.subresource == "status"]
