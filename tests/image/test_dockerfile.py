"""The structure of the Dockerfile, and lines of it that run without a build.

Level: pure."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hookrunner.options import PREDECESSORS
from hookrunner.settings import load
from tests.tables import each

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = [
    line.split(maxsplit=1)
    for line in (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    if line and not line.startswith("#")
]


def last(instruction: str) -> str:
    return [text for word, text in INSTRUCTIONS if word == instruction][-1]


def copied() -> list[str]:
    """Sources of COPY that come from the checkout."""
    lines = [text.split() for word, text in INSTRUCTIONS if word == "COPY" and "--from=" not in text]
    return [source for *sources, _target in lines for source in sources]


@each("source", copied())
def test_copied_files_exist(source: str) -> None:
    assert (ROOT / source).exists()


def test_all_files_that_the_build_needs_are_copied() -> None:
    assert {"setup.cfg", "pyproject.toml", "README.md", "LICENSE", "hookrunner"} <= set(copied())


def test_no_copied_file_is_excluded_from_the_build() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    assert {line.removeprefix("!") for line in ignored[1:] if line.startswith("!")} == {
        source.partition("/")[0] for source in copied()
    }


def test_the_user_is_a_number_and_not_root() -> None:
    """Kubernetes can check `runAsNonRoot` only of a number."""
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last("USER"))


def test_the_user_is_the_charts() -> None:
    user = last("USER").split(":")[0]
    assert f"runAsUser: {user}" in (ROOT / "charts/hookrunner/templates/_pod.tpl").read_text()


def test_tini_starts_the_program() -> None:
    assert last("ENTRYPOINT") == '["/sbin/tini", "--", "/usr/local/bin/hookrunner"]'
    assert last("CMD") == '["start"]'


def test_health_is_left_to_the_probes_of_kubernetes() -> None:
    assert "HEALTHCHECK" not in [word for word, _ in INSTRUCTIONS]


def test_the_predecessors_names_addons_and_providers_are_there() -> None:
    text = " ".join(text for _, text in INSTRUCTIONS)
    names = [
        "/shell-operator",
        "/addon-operator",
        "/shell_lib.sh",
        "/frameworks/shell",
        "/hooks",
        "/modules",
        "/addons",
        "/providers",
    ]
    assert [name for name in names if f" {name}" not in text] == []
    assert re.search(r"apt-get install .*\bbash\b.*\bca-certificates\b.*\bcurl\b.*\bjq\b.*\btini\b", text)


@pytest.mark.slow
def test_the_shell_framework_can_be_copied_into_another_image(tmp_path: Path) -> None:
    """As files: links would lead nowhere there."""
    (run,) = [text for _, text in INSTRUCTIONS if "shell-lib" in text]
    copying = run[: run.index("&& ln -s")].replace(" /", f" {tmp_path}/")
    environ = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    subprocess.run(["sh", "-ec", copying], cwd=tmp_path, env=environ, check=True)
    found = [*tmp_path.glob("*.sh"), *(tmp_path / "frameworks/shell").iterdir()]
    assert {file.name for file in found} == {"shell_lib.sh", "context.sh", "hook.sh", "values.sh"}
    assert not any(file.is_symlink() for file in found)


def test_a_users_image_copies_existing_files_of_ours() -> None:
    """What docs/image.md shows instead of `COPY --from=… /shell-operator`; the program itself cannot be copied."""
    page = (ROOT / "docs/image.md").read_text()
    taken = re.findall(r"COPY --from=hookrunner (\S+) ", page)
    made = " ".join(text for word, text in INSTRUCTIONS if word in ("COPY", "RUN"))
    assert taken == ["/usr/local/share/hookrunner/", "/usr/local/bin/kubectl", "/shell_lib.sh", "/frameworks"]
    assert [path for path in taken if f" {path}" not in made] == []
    assert (
        "COPY --from=program /program/hookrunner-*.whl /usr/local/share/hookrunner/"
        in (ROOT / "Dockerfile").read_text()
    )


def test_pages_install_the_tag_that_they_build() -> None:
    """Without one, docker makes `latest`, and the chart pulls its own version."""
    pages = [(ROOT / "docs" / name).read_text().replace("\\\n", " ") for name in ("quickstart.md", "chart.md")]
    built = [tag for page in pages for tag in re.findall(r"docker build -t registry\S*/hookrunner(\S*) ", page)]
    given = [line for page in pages for line in re.findall(r"helm install .*image\.repository=.*", page)]
    assert (built, len(given)) == ([":mine"], 2)
    assert [line for line in given if "image.tag=mine" not in line] == []


def test_what_users_of_the_predecessors_paste_names_what_the_image_has() -> None:
    page = (ROOT / "docs" / "migration.md").read_text()
    made = " ".join(text for word, text in INSTRUCTIONS if word in ("COPY", "RUN"))
    entries = set(re.findall(r'^ENTRYPOINT \["(\S+)", "--", "(/\S+)"\]', page, re.MULTILINE))
    assert entries == {("/sbin/tini", "/shell-operator"), ("/sbin/tini", "/addon-operator")}
    paths = {path for entry in entries for path in entry} | set(
        re.findall(r"COPY --from=\S*/hookrunner:latest (\S+)", page)
    )
    assert [path for path in paths if f" {path}" not in made] == []
    assert {compat for compat in re.findall(r"HOOKRUNNER_COMPAT=(\S+)", page)} == set(PREDECESSORS)
    assert f"USER {last('USER')}" in page


def test_under_every_name_hooks_modules_and_global_hooks_are_found_where_the_image_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("hooks", "modules/001-one", "global-hooks/one"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert last("WORKDIR") == "/"
    environ = dict(pair.split("=") for pair in last("ENV").split())
    for program, flags in (("hookrunner", {}), ("addon-operator", {}), ("hookrunner", {"addons-dir": "/addons"})):
        settings = load(flags, program, environ)
        assert settings.hooks.directory == Path("/hooks")
        found = [*settings.modules.directories, settings.modules.global_hooks]
        assert [path and path.name for path in found] == ["modules", "global-hooks"]
    assert not load({}, "shell-operator", environ).modules.on


def test_one_copy_of_helms_library_stays(tmp_path: Path) -> None:
    """The line is run on a library as the wheel has it."""
    for name in ("libhelm_c.so", "libhelm_c.so.0", "libhelm_c.so.1.2.3"):
        (tmp_path / name).write_text("code")
    (run,) = [text for _, text in INSTRUCTIONS if "libhelm_c" in text]
    linking = run[run.index("whole=") :]
    subprocess.run(["sh", "-ec", linking], cwd=tmp_path, check=True)
    assert [path.name for path in tmp_path.iterdir() if not path.is_symlink()] == ["libhelm_c.so.1.2.3"]
    assert {path.read_text() for path in tmp_path.iterdir()} == {"code"}
    (tmp_path / "libhelm_c.so").unlink()
    (tmp_path / "libhelm_c.so").write_text("other code")
    assert subprocess.run(["sh", "-ec", linking], cwd=tmp_path, capture_output=True).returncode == 1


def test_schemas_with_rules_can_be_read() -> None:
    """The extra `cel`, without which a module that has x-deckhouse-validations does not load."""
    assert "\ncel-expr-python==" in (ROOT / "requirements/image.txt").read_text()
