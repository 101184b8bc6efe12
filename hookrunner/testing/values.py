"""The values files of a module's hook: made for a run, read after it (addon-operator.md §2.4, §2.5)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from hookrunner.errors import BadOutput
from hookrunner.hooks import documents
from hookrunner.hooks.workspace import read
from hookrunner.model.resources import JSON
from hookrunner.sandbox.patches import json_patch
from hookrunner.sandbox.status import Refused
from hookrunner.yaml_values import BadDocument


@dataclass(frozen=True, slots=True)
class Patched:
    """Values and what a hook wants of them: the operations and the values that come of them."""

    before: JSON
    patches: tuple[JSON, ...] = ()

    @property
    def after(self) -> JSON:
        """The values with all operations applied. Raises BadOutput for one that cannot be."""
        values = self.before
        for step in self.patches:
            try:
                values = json_patch.apply(values, [step])
            except Refused:
                raise BadOutput(f"values patch: nothing to {step['op']} at '{step['path']}'") from None
        return values


@dataclass(frozen=True, slots=True)
class ValuesFiles:
    """The four files; `environment` names them for the hook."""

    directory: Path
    values: JSON
    config_values: JSON

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for the hook's process."""
        names = ("VALUES_PATH", "CONFIG_VALUES_PATH", "VALUES_JSON_PATCH_PATH", "CONFIG_VALUES_JSON_PATCH_PATH")
        return {name: str(self.directory / f"{name.lower()}.json") for name in names}

    def read(self) -> tuple[Patched, Patched]:
        """What the hook wrote about values and about config values. Raises BadOutput."""
        where = self.environment
        return (
            Patched(self.values, _steps(where["VALUES_JSON_PATCH_PATH"], "values")),
            Patched(self.config_values, _steps(where["CONFIG_VALUES_JSON_PATCH_PATH"], "config values")),
        )


@contextmanager
def values_files(values: JSON, config_values: JSON) -> Iterator[ValuesFiles]:
    """Make the files. Config values that nobody gave are an empty section for each key of the values."""
    if config_values is None:
        config_values = {key: {} for key in values}
    with TemporaryDirectory(prefix="hookrunner-values-") as directory:
        files = ValuesFiles(Path(directory), values, config_values)
        contents = (orjson.dumps(values), orjson.dumps(config_values), b"", b"")
        for path, content in zip(files.environment.values(), contents, strict=True):
            Path(path).write_bytes(content)
        yield files


def _steps(path: str, what: str) -> tuple[JSON, ...]:
    """Each document is an operation or a list of them (§2.5)."""
    text = read(path)
    if not text:
        return ()
    try:
        found = documents.every_json(text)
    except BadDocument as error:
        raise BadOutput(f"got bad {what} patch: document {error.number}: {error}") from None
    steps = [step for document in found for step in (document if isinstance(document, list) else [document])]
    for step in steps:
        if problem := _problem(step):
            raise BadOutput(f"got bad {what} patch: {problem}: {orjson.dumps(step).decode()}")
    return tuple(steps)


def _problem(step: JSON) -> str:
    """What the format does not allow; `replace` is among it."""
    if not isinstance(step, dict):
        return "an operation is an object with op, path and value"
    if step.get("op") not in ("add", "remove", "test"):
        return f"unsupported patch operation '{step.get('op')}', write add or remove"
    if not isinstance(step.get("path"), str) or not step["path"].startswith("/"):
        return "`path` must begin with a slash"
    return "`value` is missing" if step["op"] != "remove" and "value" not in step else ""
