"""The promise to `enabled` scripts: variables, files and what is in them (docs/modules.md). Level: pure."""

import os
import re
from dataclasses import replace
from pathlib import Path

from hookrunner.modules.enabled import ScriptValues
from hookrunner.modules.scripts import Scripts
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings
from hookrunner.values import config_sections
from hookrunner.values.section_store import SectionStore
from tests.modules.conftest import module

SCRIPT = """#!/bin/sh
env | grep -E "_(PATH|RESULT|REASON)=" > {0}/variables
cat $CONFIG_VALUES_PATH > {0}/config
cat $VALUES_PATH > {0}/values
wc -c < $MODULE_ENABLED_RESULT > {0}/empty
echo true > $MODULE_ENABLED_RESULT
"""


async def test_enabled_scripts_get_the_documented_variables_and_files(tmp_path: Path) -> None:
    script = tmp_path / "enabled"
    script.write_text(SCRIPT.format(tmp_path))
    script.chmod(0o755)
    store = SectionStore({"global": {"a": 1}, "myAddon": {"x": {"y": 12345678901}}}, {})
    store.adopt(config_sections.parse({"myAddon": "z: 1.5"}), None, set())
    settings = HooksSettings(tmp_dir=tmp_path / "tmp", environ={"PATH": os.environ["PATH"]})
    documents = ScriptValues(store.config_document("myAddon"), store.document("myAddon"))
    asked = replace(module("my-addon"), script=script)
    answer = await Scripts(settings, Children(Patience()), 30).ask(asked, documents, ("first", "second"))
    assert answer.wanted
    assert (tmp_path / "config").read_bytes() == b'{"global":null,"myAddon":{"z":1.5}}'
    values = b'{"global":{"a":1,"enabledModules":["first","second"]},"myAddon":{"x":{"y":12345678901},"z":1.5}}'
    assert (tmp_path / "values").read_bytes() == values
    assert (tmp_path / "empty").read_text().strip() == "0"
    variables = (tmp_path / "variables").read_text().replace(f"{tmp_path}/tmp/", "")
    assert sorted(re.sub(r"-[0-9a-f]{8}(-[0-9a-f]{4,12}){4}", "-<uuid>", variables).splitlines()) == [
        "CONFIG_VALUES_PATH=my-addon.module-config-values-<uuid>.json",
        "MODULE_ENABLED_REASON=my-addon.module-enabled-reason-<uuid>",
        "MODULE_ENABLED_RESULT=my-addon.module-enabled-result-<uuid>",
        "VALUES_PATH=my-addon.module-values-<uuid>.json",
    ]
