"""Download files, check and store them."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..environment import cache_folder, locked

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None

VARIABLE = "TINYGRAD_LIKE_DATA"
TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 18
MOST = 1 << 30  # bytes: a longer file is a wrong one, and must not fill the disk


def data_folder(name: str) -> Path:
    """The default folder of a data set: $TINYGRAD_LIKE_DATA/name, or tinygrad_like/name in the user's cache folder."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser() / name
    return cache_folder(name)


def download(folder: str | os.PathLike, digests: Mapping[str, str], mirrors: Sequence[str]) -> None:
    """Fetch the files that `folder` lacks.

    digests: file name -> SHA-256. mirrors: URLs that end in "/", tried in order.

    A file gets its name only after its SHA-256 is verified. On a terminal, with tqdm installed, each has a progress
    bar. Raises ConnectionError, with instructions for a manual download, if no mirror has a file.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, digest in digests.items():
        failures = []
        with locked(folder):
            for mirror in mirrors:
                if (folder / name).exists():
                    break
                part = folder / f"{name}.part"
                try:
                    _fetch(mirror + name, part, digest)
                    os.replace(part, folder / name)
                except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: a malformed address
                    failures.append(f"\n  {mirror}{name}: {_reason(error)}")
                finally:
                    part.unlink(missing_ok=True)
        if len(failures) == len(mirrors):
            missing = [other for other in digests if not (folder / other).exists()]
            raise ConnectionError(f"{name} could not be downloaded:{''.join(failures)}\n"
                                  f"Download the missing files in another way: {', '.join(missing)}\n"
                                  f"from {' or '.join(mirrors)}\n"
                                  f"into the folder {str(folder)!r}, or name a folder that has them")


def _fetch(url: str, part: Path, digest: str) -> None:
    sha, size = hashlib.sha256(), 0
    request = urllib.request.Request(url, headers={"User-Agent": "tinygrad_like"})
    with (urllib.request.urlopen(request, timeout=TIMEOUT) as response, part.open("wb") as file,
          _progress(part.stem, response.length) as update):  # the length is None if the header is not a number
        while size <= MOST and (chunk := response.read(CHUNK)):
            file.write(chunk)
            sha.update(chunk)
            size += len(chunk)
            update(len(chunk))
    if sha.hexdigest() != digest:
        raise OSError(f"is not the published file, or the connection broke: received {size:,} bytes with SHA-256 "
                      f"{sha.hexdigest()}, not {digest}")


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(cause) or type(cause).__name__


@contextmanager
def _progress(name: str, total: int | None) -> Iterator[Callable]:
    if tqdm is None:
        print(f"downloading {name} ...", file=sys.stderr, flush=True)
        yield lambda count: None
    else:
        with tqdm(desc=name, total=total, unit="B", unit_scale=True, disable=None) as bar:
            yield bar.update
