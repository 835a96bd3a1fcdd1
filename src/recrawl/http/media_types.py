"""Tell files that are not pages by their media type: pictures, scripts, archives and programs."""

from collections.abc import Iterable

_FAMILIES = ("image/", "audio/", "video/", "font/", "model/")
_SUBTYPES = (
    "octet-stream zip gzip x-gzip x-bzip x-bzip2 x-xz x-tar x-7z-compressed x-rar-compressed "
    "vnd.rar zstd java-archive javascript x-javascript ecmascript wasm x-font-ttf x-font-woff "
    "font-woff vnd.ms-fontobject x-shockwave-flash x-bittorrent x-msdownload x-msi x-executable "
    "x-apple-diskimage x-iso9660-image x-debian-package vnd.debian.binary-package x-rpm "
    "vnd.android.package-archive"
)
_FILES = frozenset(
    {
        "text/css",
        "text/javascript",
        "text/ecmascript",
        *(f"application/{name}" for name in _SUBTYPES.split()),
    }
)


def file_type(headers: Iterable[tuple[str, str]]) -> str | None:
    """Return the media type that headers give, if it is that of a file, not of a page.

    Documents such as PDF, plain text and JSON count as pages, and so does what has no type.

    >>> file_type([("Content-Type", "IMAGE/png")]), file_type([("content-type", "text/css; a=b")])
    ('image/png', 'text/css')
    >>> file_type([("Content-Type", "text/html")]), file_type([])
    (None, None)
    """
    given = next((value for name, value in headers if name.lower() == "content-type"), "")
    media_type = given.partition(";")[0].strip().lower()
    is_file = media_type in _FILES or media_type.startswith(_FAMILIES)
    return media_type if is_file else None
