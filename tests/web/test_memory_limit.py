"""The memory limit of a control group, as the kernel writes it. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.options import Memory
from hookrunner.web.review_limits import bytes_of, memory_limit


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "805306368\n"}, 805306368),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {}, None),
        ("0::/pods/a\n", {"pods/a/memory.max": "max\n", "pods/memory.max": "1000\n", "memory.max": "2000\n"}, 1000),
        ("0::/../../elsewhere\n", {"memory.max": "1000\n"}, 1000),
        ("9:memory:/docker/1\n1:cpu,cpuacct:/x\n0::/\n", {"memory/memory.limit_in_bytes": "1000\n"}, 1000),
        ("9:memory:/docker/1\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ("nonsense\n", {"memory.max": "1000\n"}, None),
    ],
)
def test_lowest_memory_limit_applies(tmp_path: Path, groups: str, files: dict[str, str], limit: int | None) -> None:
    for name, text in {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{n}": t for n, t in files.items()}}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory_limit(tmp_path) == limit
    assert bytes_of(Memory(share=0.5), tmp_path) == (limit or 2 << 30) // 2
    assert bytes_of(Memory(size=7), tmp_path) == 7


def test_no_control_group_means_no_memory_limit(tmp_path: Path) -> None:
    assert memory_limit(tmp_path) is None
