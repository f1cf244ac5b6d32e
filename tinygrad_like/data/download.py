"""Files from the network: checked, resumed, kept."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None

VARIABLE = "TINYGRAD_LIKE_DATA"
TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 18
MOST = 1 << 30  # bytes: what is longer cannot be what was asked for, and should not fill the disk


def data_folder(name: str) -> Path:
    """Where the data set of this name is kept unless a folder is given: $TINYGRAD_LIKE_DATA/name, or else
    tinygrad_like/name in the user's cache directory."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser() / name
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        cache = "~/Library/Caches"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "tinygrad_like" / name


def download(folder: str | os.PathLike, digests: Mapping[str, str], mirrors: Sequence[str]) -> None:
    """Fetch files into `folder`, except those that are there: names with their SHA-256, from addresses that end in "/".

    Mirrors are tried in order. Bytes are gathered in `<name>.part`, which a later call continues where this one was
    interrupted; a file takes its name only once its SHA-256 is right. Each has a progress bar, on a terminal and if
    tqdm is installed. Raises ConnectionError, which says what to do by hand, if no mirror gives a file.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, digest in digests.items():
        failures = []
        with alone(folder):
            for mirror in mirrors:
                if (folder / name).exists():
                    break
                try:
                    _fetch(mirror + name, folder / f"{name}.part", digest)
                    os.replace(folder / f"{name}.part", folder / name)
                except (OSError, http.client.HTTPException, ValueError) as error:  # the last: an address makes no sense
                    failures.append(f"\n  {mirror}{name}: {_reason(error)}")
        if len(failures) == len(mirrors):
            missing = [other for other in digests if not (folder / other).exists()]
            raise ConnectionError(f"{name} could not be downloaded:{''.join(failures)}\n"
                                  f"Fetch in some other way what is missing: {', '.join(missing)}\n"
                                  f"from {' or '.join(mirrors)}\n"
                                  f"into the folder {str(folder)!r}, or name a folder that has it")


def _fetch(url: str, part: Path, digest: str) -> None:
    """Complete `part` from url, over several connections if they break off but bring something."""
    while True:
        start = part.stat().st_size if part.exists() else 0
        try:
            _append(url, part, start)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not start:
                raise
            # There is no more than what we have: it may be whole.
        except (OSError, http.client.HTTPException):
            if not part.exists() or part.stat().st_size <= start:
                raise
            continue
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found == digest:
            return
        part.unlink()
        if not start:  # else what was there before may have been to blame: once more from the beginning
            raise OSError(f"is not the file that was published: its SHA-256 is {found}, not {digest}")


def _append(url: str, part: Path, start: int) -> None:
    headers = {"User-Agent": "tinygrad_like", **({"Range": f"bytes={start}-"} if start else {})}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0  # the server sends all of it, whatever it was asked
        total = None if response.length is None else start + response.length  # None also where the header is no number
        with part.open("r+b" if start else "wb") as file, _progress(part.stem, start, total) as update:
            file.seek(start)
            while file.tell() <= MOST and (chunk := response.read(CHUNK)):
                file.write(chunk)
                update(len(chunk))
            if total is not None and file.tell() < min(total, MOST):
                raise ConnectionError(f"the connection broke off after {file.tell():,} of {total:,} bytes")


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(cause) or type(cause).__name__


@contextmanager
def _progress(name: str, start: int, total: int | None) -> Iterator[Callable]:
    if tqdm is None:
        print(f"downloading {name} ...", file=sys.stderr, flush=True)
        yield lambda count: None
    else:
        with tqdm(desc=name, initial=start, total=total, unit="B", unit_scale=True, disable=None) as bar:
            yield bar.update


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let others wait, here or in other processes, that want to write to the same files: two would spoil them."""
    if fcntl is None:
        yield
        return
    directory = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems cannot lock a folder; the checksum is there still
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
