"""Addresses of servers, as the locations of sources and messages have them.

check_base("https://example.com/addons", plain_http=False)      # raises ValueError with what is wrong
without_credentials("https://me:secret@example.com/x")          # "https://example.com/x"
"""

from urllib.parse import urlsplit

from kubetypes.foreign_pages import is_loopback


def check_base(text: str, plain_http: bool) -> None:
    """Raises ValueError for a URL that cannot be the base of a source: without a host, with a query, or http:// to
    another machine without `plain_http`."""
    try:
        url = urlsplit(text)
        host = url.hostname or ""
        _ = url.port
    except ValueError:
        host = ""
    if not host:
        raise ValueError("the URL of a source has no host, or one that cannot be read; write https://HOST/PATH")
    if url.query or url.fragment:
        raise ValueError("the URL of a source has a query or a fragment; paths are added to it, so leave both out")
    if url.scheme == "http" and not (plain_http or is_loopback(host)):
        raise ValueError(f"http://{host} is not protected; use https, or set --addon-verify off")


def without_credentials(url: str) -> str:
    """A URL for messages: without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
