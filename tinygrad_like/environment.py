"""What there is on this machine beside Python and NumPy: optional packages, and the user's cache folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder(name: str) -> Path:
    """tinygrad_like/name in the user's cache folder. RuntimeError where nothing says where the user's files lie."""
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        cache = "~/Library/Caches"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "tinygrad_like" / name
