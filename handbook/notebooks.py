"""Notebooks as pages: their text, code, and stored outputs."""

from __future__ import annotations

import json
from pathlib import Path


def page(path: Path) -> str:
    """A notebook in Markdown. The language of its code is "py", so the build does not run it."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code":
            parts.append(f"```py\n{text}\n```")
            parts += [_shown(output) for output in cell["outputs"]]
    return "\n\n".join(filter(None, parts)) + "\n"


def _shown(output: dict) -> str:
    data = output.get("data", {})
    if "image/svg+xml" in data:
        svg = " ".join("".join(data["image/svg+xml"]).split("\n"))
        return f'<figure class="picture">{svg}</figure>'
    text = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
    return f'```text title="prints"\n{text}\n```' if text else ""
