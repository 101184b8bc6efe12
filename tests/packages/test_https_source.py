"""Web servers as sources: what they cost, and what slow, wrong and hostile ones can do. Level: pure."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from yarl import URL

from hookrunner.errors import PackageError
from hookrunner.metrics.names import Metrics
from hookrunner.packages.https_reader import HttpsReader, redirect_target, system_trust
from hookrunner.packages.https_source import HttpsSource
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher
from tests.packages.name_server import Names
from tests.packages.places import CHART, FILES, refusal_of, with_checksums
from tests.packages.web_place import KUBERNETES, Answer, WebPlace, web_place
from tests.tables import each

CHANNEL = b"manifests: []\n"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[WebPlace]:
    async with web_place(tmp_path) as place:
        place.put_channel("stable", CHANNEL)
        place.put_package("coredns", "1.0", with_checksums(FILES))
        yield place


async def refusal(source: HttpsSource) -> PackageError:
    return await refusal_of(source.read_channel("stable"))


async def test_servers_are_trusted_as_the_system_trusts_them(
    place: WebPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nothing.pem").touch()
    said: list[object] = []
    for trusted in ("nothing.pem", "web.crt"):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / trusted))
        system_trust.cache_clear()
        async with HttpsReader() as reader:
            try:
                said.append(await reader.read(URL(f"{place.base}/stable"), 100))
            except PackageError as error:
                said.append(error.reason)
    system_trust.cache_clear()
    assert said == ["Unreachable", CHANNEL]


async def test_an_unchanged_channel_costs_an_answer_without_a_body(place: WebPlace) -> None:
    texts = [await place.source.read_channel("stable") for _ in range(3)]
    place.put_channel("stable", b"manifests: [] # new\n")
    texts.append(await place.source.read_channel("stable"))
    assert [status for _, status in place.requests] == [200, 304, 304, 200]
    assert texts == ["manifests: []\n"] * 3 + ["manifests: [] # new\n"]


async def test_a_digest_costs_the_list_alone(place: WebPlace) -> None:
    package = await place.source.read_package("coredns", "1.0")
    place.requests.clear()
    assert await place.source.read_digest("coredns", "1.0") == package.digest
    assert place.requests == [("/packages/coredns/1.0/SHA256SUMS", 304)]
    assert await place.source.read_digest("coredns", "2.0") == ""


@pytest.mark.slow
async def test_large_packages_do_not_forget_the_channel(place: WebPlace) -> None:
    await place.source.read_channel("stable")
    place.put_package("coredns", "2.0", with_checksums({f"f{number:03}": b"" for number in range(100)}))
    await place.source.read_package("coredns", "2.0")
    await place.source.read_channel("stable")
    assert place.requests[-1] == ("/stable", 304)


async def test_the_base_follows_the_clusters_version(place: WebPlace) -> None:
    place.files["/v1.34.2/stable"] = b"manifests: [] # 1.34\n"
    source = place.source_at(place.base + "/v{kubernetes}/")
    assert await source.read_channel("stable") == "manifests: [] # 1.34\n"


async def test_paths_are_quoted(place: WebPlace) -> None:
    files = {"a b%41?#.yaml": b"", "ü/+&.yaml": b""}
    place.put_package("coredns", "2.0+x", with_checksums(files))
    assert (await place.source.read_package("coredns", "2.0+x")).files == files


async def test_a_server_that_hangs_is_left_at_the_deadline(place: WebPlace) -> None:
    place.answers["/stable"] = Answer(body=None)
    place.answers["/packages/coredns/1.0/manifest.yaml"] = Answer(body=None)
    source = place.source_at(place.base, timeout=0.1)
    error = await refusal(source)
    assert (error.reason, error.brief) == ("Unreachable", True)
    assert "within 0.1 s; raise --addon-fetch-timeout" in str(error)
    with pytest.raises(PackageError, match=r"package coredns 1\.0: no complete answer"):
        await source.read_package("coredns", "1.0")


@each(
    "answer, reason, problem",
    [
        (Answer(status=500), "Unreachable", "/stable: HTTP 500"),
        (Answer(headers={"X": "x" * 9000}), "Unreachable", "/stable: the answer is not HTTP: Got more than 8190 bytes"),
        (Answer(status=401), "Unreachable", "HTTP 401"),
        (Answer(status=403), "Unreachable", "HTTP 403"),
        (Answer(status=429), "Unreachable", "HTTP 429"),
        (Answer(status=204), "Unreachable", "HTTP 204"),
        (Answer(status=206, body=b"x"), "Unreachable", "HTTP 206"),
        (Answer(status=304), "Unreachable", "HTTP 304"),
        (Answer(status=410), "NoChannel", "does not exist at https://127.0.0.1:"),
        (Answer(body=gzip.compress(CHANNEL), headers={"Content-Encoding": "gzip"}), "Malformed", "is compressed"),
        (Answer(body=CHANNEL, length=1000), "Unreachable", "the answer broke off in the middle"),
        (Answer(body=b"x" * ((1 << 20) + 1)), "TooLarge", "more than 1 MiB"),
        (Answer(body=b"x" * ((1 << 20) + 1), length=1 << 60), "TooLarge", "more than 1 MiB"),
        (Answer(status=302), "Malformed", "redirects nowhere"),
        (Answer(status=302, headers={"Location": "/stable"}), "Malformed", "more than 5 redirects"),
        (Answer(status=302, headers={"Location": "http://127.0.0.1/"}), "Malformed", "redirects to http:, not https:"),
        (Answer(status=302, headers={"Location": "file:///etc/passwd"}), "Malformed", "redirects to file:"),
        (Answer(status=302, headers={"Location": "https://[::1/"}), "Unreachable", ""),
        (
            Answer(status=302, headers={"Location": "https://nowhere.invalid/"}),
            "Unreachable",
            "Cannot connect to nowhere.invalid: ",
        ),
    ],
)
async def test_an_answer_that_is_none(place: WebPlace, answer: Answer, reason: str, problem: str) -> None:
    place.answers["/stable"] = answer
    error = await refusal(place.source)
    assert (error.reason, problem in str(error)) == (reason, True), error


async def test_a_file_that_is_shorter_than_it_was_is_another_one(place: WebPlace) -> None:
    place.answers["/packages/coredns/1.0/manifest.yaml"] = Answer(body=FILES["manifest.yaml"][:5])
    assert (await refusal_of(place.source.read_package("coredns", "1.0"))).reason == "DigestMismatch"


async def test_five_redirects_are_followed(place: WebPlace) -> None:
    for number in range(5):
        place.answers[f"/hop{number}"] = Answer(status=302, headers={"Location": f"/hop{number + 1}"})
    place.files["/hop5"] = b"manifests: [] # here\n"
    place.answers["/stable"] = Answer(status=307, headers={"Location": f"{place.base}/hop1"})
    assert await place.source.read_channel("stable") == "manifests: [] # here\n"
    place.answers["/stable"] = Answer(status=307, headers={"Location": "/hop0"})
    assert "more than 5 redirects" in str(await refusal(place.source))


async def test_the_first_bad_file_ends_the_package(place: WebPlace) -> None:
    place.put_package("coredns", "2.0", with_checksums({**CHART, **{f"f{number:03}": b"" for number in range(100)}}))
    place.answers["/packages/coredns/2.0/f000"] = Answer(status=500)
    with pytest.raises(PackageError, match="HTTP 500"):
        await place.source.read_package("coredns", "2.0")
    assert len(place.requests) < 30


async def test_a_server_that_is_down_or_unknown_is_unreachable(place: WebPlace) -> None:
    async with HttpsReader() as strict:
        error = await refusal(HttpsSource(place.base, strict, KUBERNETES, 5))
    assert (error.reason, "certificate" in str(error).lower()) == ("Unreachable", True)
    assert str(error).startswith(f"{place.base}/stable: certificate verify failed: self")
    assert str(error).endswith(" certificate: name the authority that it is from with SSL_CERT_FILE")
    error = await refusal(place.source_at("https://me:secret@127.0.0.1:1/x"))
    assert error.reason == "Unreachable"
    assert "https://127.0.0.1:1/x/stable: Cannot connect" in str(error)


async def test_a_server_without_tls_is_named_as_such() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with listener, HttpsReader() as reader:
        base = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        error = await refusal(HttpsSource(base, reader, KUBERNETES, 5))
    assert str(error).startswith(f"{base}/stable: Cannot connect: no TLS: ")


@each(
    ("text", "problem"), [(b"manifests: [", ": not YAML"), (b"\xff", " is not UTF-8"), (b"x" * (1 << 20 | 1), " has")]
)
async def test_a_broken_channel_is_named_with_its_server(place: WebPlace, text: bytes, problem: str) -> None:
    place.put_channel("stable", text)
    fetcher = PackageFetcher(PackageCache(Path("/nonexistent"), 1), "digest", Metrics(""))
    error = await refusal_of(fetcher.read_channel(place.source, "stable"))
    assert str(error).startswith(f"channel 'stable' at {place.base}{problem}")


# ── redirects ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@each(
    "current, location, target",
    [
        ("https://a.com/x/y", "z", "https://a.com/x/z"),
        ("https://me:pw@a.com/x", "/z", "https://me:pw@a.com/z"),
        ("https://me:pw@a.com/x", "https://a.com/z", "https://me:pw@a.com/z"),
        ("https://me:pw@a.com/x", "https://b.com/z", "https://b.com/z"),
        ("https://me:pw@a.com/x", "https://a.com:8443/z", "https://a.com:8443/z"),
        ("https://a.com/x", "https://you:pw@b.com/z", "https://b.com/z"),
    ],
)
def test_a_password_stays_with_its_server(current: str, location: str, target: str) -> None:
    assert redirect_target(URL(current), location) == URL(target)


@each("location", ["https://10.0.0.1/", "https://[::1]:8443/z", "https://169.254.169.254/latest/meta-data"])
def test_a_public_server_leads_to_no_private_address(location: str) -> None:
    with pytest.raises(PackageError, match="redirects from a public to the private address") as raised:
        redirect_target(URL("https://a.com/x"), location, public_only=True)
    assert raised.value.reason == "Malformed"
    assert redirect_target(URL("https://a.com/x"), location) == URL(location)
    assert redirect_target(URL("https://a.com/x"), "https://93.184.216.34/", public_only=True)


@each(
    ("addresses", "location", "problem"),
    [
        (
            ["127.0.0.1", "93.184.216.34"],
            "https://127.0.0.1/",
            "redirects from a public to the private address 127.0.0.1",
        ),
        (["127.0.0.1", "93.184.216.34"], "https://inside/", "inside has a private address"),
        (["127.0.0.1"], "/here", ""),
    ],
)
async def test_a_server_that_is_private_in_part_leads_to_no_private_address(
    tmp_path: Path, addresses: list[str], location: str, problem: str
) -> None:
    names = Names(localhost=addresses, inside=["93.184.216.34", "10.0.0.1"])
    async with web_place(tmp_path, names) as place:
        place.put_channel("here", CHANNEL)
        place.answers["/stable"] = Answer(status=302, headers={"Location": location})
        source = place.source_at(place.base.replace("127.0.0.1", "localhost"))
        if problem:
            assert problem in str(await refusal(source))
        else:
            assert await source.read_channel("stable") == CHANNEL.decode()
