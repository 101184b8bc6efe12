"""Schemas from texts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hookrunner.values.schemas.schema import SectionSchema
from hookrunner.values.schemas.schema_files import Schemas, load

Written = Callable[..., Schemas]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Loads schemas that are written as texts: of the config, of the values."""

    def write(config: str | None = None, values: str | None = None, section: str = "it") -> Schemas:
        (tmp_path / "openapi").mkdir(exist_ok=True)
        for name, text in (("config-values", config), ("values", values)):
            if text is not None:
                (tmp_path / "openapi" / f"{name}.yaml").write_text(text)
        return load(tmp_path, section)

    return write


@pytest.fixture
def schema(written: Written) -> Callable[[str], SectionSchema]:
    """One schema of the config."""

    def write(text: str) -> SectionSchema:
        config = written(text).config
        assert config is not None
        return config

    return write
