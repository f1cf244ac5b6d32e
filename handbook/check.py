"""Check the built site: no link or anchor is broken, and nothing is loaded from another server."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Elements and attributes whose address a browser loads by itself, unlike a link.
_LOADED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("audio", "src"),
           ("embed", "src"), ("object", "data"), ("image", "href"), ("use", "href")}
_RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest"}


# Classes of elements for which the theme's script would load another script from a server.
_SCRIPTED = re.compile(r'class="[^"]*\b(mermaid|arithmatex|glightbox|pyodide)\b')
_TAG = re.compile(r"<([a-z][\w-]*)\s([^<>]*)>")
_ATTRIBUTE = re.compile(r"""([\w:-]+)=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


class _Page:
    """The links, loaded files and anchors of a page."""

    def __init__(self, text: str):
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.scripted = _SCRIPTED.search(text)
        for tag, inside in _TAG.findall(text):
            self._note(tag, {name: unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(inside)})

    def _note(self, tag: str, values: dict[str, str]) -> None:
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag in ("a", "link") and "href" in values:
            self.links.append(values["href"])
        for name, value in values.items():
            if (tag, name) in _LOADED:
                self.links.append(value)
                self.loads.append(value)
            if name == "srcset":
                self.loads += [part.split()[0] for part in value.split(",") if part.split()]
        if tag == "link" and _RELATIONS & set(values.get("rel", "").split()):
            self.loads.append(values.get("href", ""))


def problems(site: Path) -> list[str]:
    """The errors of the site in a folder, one line each."""
    found: list[str] = []

    @cache
    def parsed(path: Path) -> _Page:
        return _Page(path.read_text(encoding="utf-8"))

    pages = sorted(site.rglob("*.html"))
    if len(pages) < 100:
        found.append(f"only {len(pages)} pages in {site}")
    for path in pages:
        where = path.relative_to(site)
        page = parsed(path)
        if page.scripted:
            found.append(f"{where}: has {page.scripted[0]}, which needs a script from another server")
        for address in page.loads:
            if urlsplit(address).netloc:
                found.append(f"{where}: loads {address}")
        for address in dict.fromkeys(page.links):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                found.append(f"{where}: {address} does not exist")
            elif parts.fragment not in ("", "__top") and target.suffix == ".html" and \
                    unquote(parts.fragment) not in parsed(target).anchors:
                found.append(f"{where}: {address} has no such anchor")
    for path in sorted(site.rglob("*.css")):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/", "")
        if "@import" in text or "url(http" in text or "url(//" in text:
            found.append(f"{path.relative_to(site)}: loads from another server")
    return found
