"""Instances are deleted while hooks of theirs hang or fail."""

from pathlib import Path

import pytest

from tests.instances.lives.site import LiveSite

HOOK = """\
#!/bin/bash
if [[ $1 == --config ]]; then
  echo '{{"configVersion": "v1", {binding}}}'
elif [[ -e {flag} ]]; then
  : >> {flag}.seen
  {what}
fi
"""
BEFORE = '"beforeHelm": 1'
MAPS = '"kubernetes": [{"name": "m", "kind": "ConfigMap", "namespace": {"nameSelector": {"matchNames": ["n1"]}}}]'
HANGS, FAILS = "exec /bin/sleep 600", "exit 1"


@pytest.mark.parametrize(("binding", "what"), [(BEFORE, HANGS), (MAPS, HANGS), (MAPS, FAILS)])
async def test_hook_that_hangs_or_fails_keeps_no_instance_alive(
    site: LiveSite, tmp_path: Path, binding: str, what: str
) -> None:
    hook, flag = tmp_path / "addons/thing/hooks/h", tmp_path / "flag"
    hook.parent.mkdir()
    hook.write_text(HOOK.format(binding=binding, flag=flag, what=what))
    hook.chmod(0o755)
    async with site.started(**{"shutdown-grace": "0.5s"}) as process:
        await site.places.create(["n1"])
        await site.until(site.places.phases, {"n1": "Current"})
        flag.touch()
        await site.places.patch("/api/v1/namespaces/n1/configmaps/a", {"metadata": {"labels": {"a": "b"}}})
        await site.places.change(["n1"], {"version": "2.0.0"})
        await site.until(lambda: is_seen(flag), True)
        await site.places.delete(["n1"])
        await site.until(site.places.phases, {})
        await site.until(process.series, [])
    assert await site.places.maps() == {}


async def is_seen(flag: Path) -> bool:
    return flag.with_name("flag.seen").exists()
