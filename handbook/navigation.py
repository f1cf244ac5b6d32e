"""The site's navigation: the tree of pages."""

from __future__ import annotations

import json
import re

from .links import ROOT
from .reference import PAGES


def navigation(ops: str) -> str:
    """The tree as TOML. `ops`: the page whose table lists the ops by kind."""
    kinds = [{kind: [f"ops/{name}.md" for name in re.findall(r"\]\((\w+)\.md\)", listed)]}
             for kind, listed in re.findall(r"^\| ([^|]+?) \| (\[.*?) \|$", ops, re.M)]
    use = (ROOT / "docs" / "use" / "README.md").read_text(encoding="utf-8")
    tasks = [name.removeprefix("../") if name.startswith("../") else f"use/{name}"
             for name in re.findall(r"\]\(([\w./]+\.md)\)", use) if name != "../learn.md"]  # it has its own entry
    return _toml([
        {"Start": "index.md"},
        {"Backprop in an hour": "backprop.md"},
        {"Use it": ["use/index.md", *tasks]},
        {"Read it": ["read.md", "inside_capture.md"]},
        {"Learn by doing": ["learn.md", *[f"notebooks/{p.stem}.md"
                                          for p in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))]]},
        {"The rules": ["ops/index.md", *kinds]},
        {"API": ["reference/index.md", *[f"reference/{name}.md" for name in PAGES]]},
        {"Demos": ["demos.md", "experiments.md"]},
        {"Measured": ["performance.md", "accuracy.md"]},
        {"The source texts": "seeds.md"},
        {"The project": ["project.md", "conventions.md", "contributing.md"]},
    ])


def _toml(tree: list) -> str:
    items = []
    for item in tree:
        if isinstance(item, str):
            items.append(json.dumps(item))
            continue
        (title, inside), = item.items()
        value = _toml(inside) if isinstance(inside, list) else json.dumps(inside)
        items.append(f"{{ {json.dumps(title)} = {value} }}")
    return f"[{', '.join(items)}]"
