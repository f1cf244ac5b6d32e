"""Downloading, from a server on this machine."""

import hashlib
import sys

import numpy as np
import pytest

from tinygrad_like import environment
from tinygrad_like.data import download as module
from tinygrad_like.data.download import data_folder, download

CONTENT = np.random.default_rng(0).bytes(600_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def get(server, tmp_path):
    """Download "x" into a new folder, from the server unless other mirrors are named; returns its path."""
    server.files["x"] = CONTENT

    def get(*mirrors):
        download(tmp_path / "new" / "folder", {"x": DIGEST}, mirrors or [server.url])
        return tmp_path / "new" / "folder" / "x"

    return get


def left_behind(path):
    return sorted(p.name for p in path.parent.iterdir())


def test_a_file_is_downloaded_once(server, get):
    path = get()
    assert path.read_bytes() == CONTENT and left_behind(path) == ["x"]
    assert get() == path
    assert server.requests == ["x"]


def test_a_wrong_file_is_refused(server, get, tmp_path):
    server.files["x"] = CONTENT[:-1] + b"?"
    with pytest.raises(ConnectionError, match=f"not the published file.*, not {DIGEST}"):
        get()
    assert left_behind(tmp_path / "new" / "folder" / "x") == []


def test_the_next_mirror_is_tried(server, get):
    server.files["wrong/x"] = b"wrong"
    assert get(f"{server.url}none/", f"{server.url}wrong/", server.url).read_bytes() == CONTENT
    assert server.requests == ["none/x", "wrong/x", "x"]


def test_a_broken_connection_is_reported_unless_another_mirror_has_the_file(server, get, tmp_path):
    server.breaks.extend([100_000])
    assert get(server.url, server.url).read_bytes() == CONTENT  # another mirror has it
    server.breaks.extend([100_000])
    server.files["y"] = CONTENT
    with pytest.raises(ConnectionError, match="the connection broke: received 100,000 bytes"):
        download(tmp_path, {"y": DIGEST}, [server.url])
    assert list(tmp_path.iterdir()) == [tmp_path / "new"]


@pytest.mark.parametrize("length", ["", "abc", "-5", "1e9", "nan", "6_0_0_000", "9" * 5000, "0x10", "600000, 600000",
                                    "+ 3", "600001", "9" * 30])
def test_a_wrong_content_length_is_no_obstacle(server, get, length):
    server.length = length
    assert get().read_bytes() == CONTENT


@pytest.mark.parametrize("length", [None, "abc", "9" * 30])
def test_an_endless_answer_does_not_fill_the_disk(server, get, tmp_path, monkeypatch, length):
    monkeypatch.setattr(module, "MOST", 1_000_000)
    server.files["x"], server.length = bytes(5_000_000), length
    with pytest.raises(ConnectionError, match="is not the published file"):
        get()
    assert left_behind(tmp_path / "new" / "folder" / "x") == []


def test_a_malformed_address_fails_only_that_mirror(server, get):
    assert get("http://[bad/", "nothing", server.url).read_bytes() == CONTENT


def test_the_error_offline_says_what_to_do(server, tmp_path):
    server.files["a"] = b"a"
    offline = "http://127.0.0.1:1/"
    digests = {"a": hashlib.sha256(b"a").hexdigest(), "b": DIGEST, "c": DIGEST}
    with pytest.raises(ConnectionError) as caught:
        download(tmp_path, digests, [offline, server.url])
    reason, first, second, missing, where, folder = str(caught.value).splitlines()
    assert reason == "b could not be downloaded:"
    assert first.startswith(f"  {offline}b: ") and "refused" in first
    assert second == f"  {server.url}b: HTTP 404 Not Found"
    assert missing.endswith(": b, c")  # a was found
    assert where == f"from {offline} or {server.url}"
    assert repr(str(tmp_path)) in folder


@pytest.mark.skipif(environment.fcntl is None, reason="needs file locks")
def test_two_threads_download_a_file_once(server, get, in_threads):
    in_threads(lambda thread: get(), 2)
    assert get().read_bytes() == CONTENT and server.requests == ["x"]


def test_without_tqdm_a_line_says_what_is_downloaded(get, monkeypatch, capsys):
    monkeypatch.setattr(module, "tqdm", None)
    get()
    assert capsys.readouterr().err == "downloading x ...\n"


def test_the_data_folder_follows_the_environment_and_the_system(monkeypatch, tmp_path):
    monkeypatch.setenv("TINYGRAD_LIKE_DATA", str(tmp_path))
    assert data_folder("mnist") == tmp_path / "mnist"
    monkeypatch.delenv("TINYGRAD_LIKE_DATA")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder("mnist") == tmp_path / "cache" / "tinygrad_like" / "mnist"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder("mnist") == tmp_path / ".cache" / "tinygrad_like" / "mnist"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert data_folder("mnist") == tmp_path / "Library" / "Caches" / "tinygrad_like" / "mnist"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "Local"))
    assert data_folder("mnist") == tmp_path / "Local" / "tinygrad_like" / "mnist"
