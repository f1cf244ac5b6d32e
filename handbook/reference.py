"""The API reference: pages made from the signatures and docstrings of all public names."""

from __future__ import annotations

import html
import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tinygrad_like import Tensor, ops
from tinygrad_like.compat.names import MISSING
from tinygrad_like.core.primitive import Primitive

from .links import ROOT, Places

MODULES = ("tinygrad_like", "tinygrad_like.ops", "tinygrad_like.linalg", "nn", "nn.functional", "nn.models", "nn.init",
           "nn.utils", "nn.utils.rnn", "nn.onnx", "optim", "optim.schedule",
           "optim.lr_scheduler", "tinygrad_like.data", "tinygrad_like.training", "tinygrad_like.func",
           "tinygrad_like.autograd", "tinygrad_like.distributions", "tinygrad_like.distributed", "tinygrad_like.learn")
PAGES = ("Tensor", *MODULES)


def found(module: str) -> types.ModuleType:
    """The module with this dotted name; it may be an attribute of a package, such as tinygrad_like.linalg."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        package, _, name = module.rpartition(".")
        return getattr(importlib.import_module(package), name)


def exported(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """The public functions, classes and ops of a module; only its own if it has no __all__."""
    names = getattr(module, "__all__", None)
    for name in names or sorted(vars(module)):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) or not callable(value) or name.startswith("_"):
            continue
        if names is None and not _belongs(value, module):
            continue
        yield name, value


def _belongs(value: Any, module: types.ModuleType) -> bool:
    home = getattr(inspect.unwrap(value), "__module__", None) or ""
    return f"{home}.".startswith(f"{module.__name__}.")


def reference(places: Places) -> dict[str, str]:
    """Page of the site -> its text, for every module and for Tensor."""
    pages = {"reference/Tensor.md": _class_page(Tensor, places)}
    for name in MODULES:
        module = found(name)
        about = module.__doc__ or ""  # not cleaned: an example at its end would lose its indentation
        parts = [f"# {name}", "", document(about), _contents(module)]
        for label, value in exported(module):
            if value is Tensor:
                parts.append("\n## Tensor\n\nSee [its own page](Tensor.md).\n")
                continue
            parts.append(_entry(label, value, places, f"reference/{name}.md"))
            if inspect.isclass(value):
                parts += [_entry(f"{label}.{n}", m, places, f"reference/{name}.md", level=3)
                          for n, m in methods(value) if inspect.getdoc(m) and not _known(value, n)]
        pages[f"reference/{name}.md"] = "\n".join(parts)
    listed = [f"- [`{name}`]({name}.md): {_first(name)}" for name in PAGES]
    pages["reference/index.md"] = "\n".join([
        "# API reference", "", "Made from signatures and docstrings when the site is built.", "", *listed, ""])
    return pages


def _contents(module: types.ModuleType) -> str:
    """Links to the entries of a long page, by kind if there are many; narrow screens do not show the contents."""
    entries, kinds = dict(exported(module)), dict[str, list[str]]()
    links = {label: f"[{label}](#{label.lower()})" for label in entries}
    if len(links) <= 40:
        return f"\n{' · '.join(links.values())}\n" if len(links) > 8 else ""
    said = _headings(module)
    for label, value in entries.items():
        kind = said.get(label) or kind_of(label, getattr(ops, label, value))
        kinds.setdefault("Others" if kind == "Names of other libraries" else kind, []).append(links[label])
    order = list(kinds) if any(said.values()) else [*KINDS, "Others"]
    return _table({kind: kinds.get(kind, []) for kind in order})


def _table(kinds: dict[str, list[str]]) -> str:
    rows = [f"| {kind} | {' '.join(links)} |" for kind, links in kinds.items() if links]
    return "\n".join(["", "| | |", "| --- | --- |", *rows, ""])


def _headings(module: types.ModuleType) -> dict[str, str]:
    """Name -> the comment above it in the module's __all__."""
    named, heading = {}, ""
    listed = re.search(r"^__all__ = \[\n(.*?)^\]", inspect.getsource(module), re.M | re.S)
    for line in listed[1].splitlines() if listed else []:
        if line.strip().startswith("# "):
            heading = line.strip()[2].upper() + line.strip()[3:]
        named |= dict.fromkeys(re.findall(r'"(\w+)"', line), heading)
    return named


def _known(cls: type, name: str) -> bool:
    """Whether a method is not specific to its class: the op behind a layer, or a method that every layer has."""
    return name in ("forward", "op", "function") or (
        name in ("extra_repr", "reset_parameters") and cls.__name__ != "Module")


def _first(name: str) -> str:
    about = inspect.getdoc(Tensor if name == "Tensor" else found(name)) or ""
    return _inline(" ".join(about.split("\n\n")[0].split()))


# Headings for the Tensor's methods -> files of their ops, or of the methods; comments in `of_ops.py` name others.
KINDS = {
    "The Tensor itself": "methods/protocol.py",
    "Gradients": "core/tensor.py methods/gradients.py methods/versions.py",
    "Creation": "methods/creation.py random.py",
    "Arithmetic": "ops/elementwise.py ops/functions.py ops/trigonometry.py ops/gamma.py ops/compare.py",
    "Comparisons and logic": "",
    "Activations": "ops/activation.py ops/dropout.py nn/activation.py nn/dropout.py",
    "Reductions": "ops/reduce.py ops/scan.py ops/statistics.py",
    "Shape": "ops/shape.py ops/movement.py",
    "Indexing and order": "ops/order.py ops/scatter.py ops/table.py ops/parts.py",
    "Products": "ops/products.py ops/matmul.py ops/attention.py",
    "Linear algebra": "ops/matrices.py ops/triangles.py ops/least_squares.py",
    "Losses": "ops/loss.py ops/softmax.py",
    "Norms": "ops/normalization.py nn/norm.py",
    "Signals, images and volumes": "ops/conv.py ops/pool.py ops/volume.py nn/pool.py",
    "Type and copies": "",
    "Names of other libraries": "",
}
# Methods whose file belongs to another heading.
ELSEWHERE = {
    "The Tensor itself": "size device stride element_size is_contiguous sequential",
    "Gradients": "grad is_leaf detach grad_fn",
    "Comparisons and logic": "eq ne lt le gt ge equal allclose isclose isfinite isinf isnan isneginf isposinf signbit "
                             "where masked_fill logical_and logical_or logical_xor logical_not bitwise_and bitwise_or "
                             "bitwise_xor bitwise_not",
    "Reductions": "norm amax amin",
    "Indexing and order": "scatter_reduce nonzero select narrow index_select index_add",
    "Products": "matmul dot mm bmm mv addmm",
    "Losses": "sparse_categorical_crossentropy",
    "Type and copies": "bitcast to type type_as",
}


def kind_of(name: str, method: Any) -> str:
    """The heading for a method of Tensor."""
    for kind, names in ELSEWHERE.items():
        if name in names.split():
            return kind
    kind = ""
    for line in (ROOT / "tinygrad_like" / "methods" / "of_ops.py").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"    # ([A-Z][\w ,]*)", line):
            kind = heading[1]
        elif kind and (re.match(rf"    def {name}\(", line) or re.match(rf"    {name} = ", line)):
            return kind
    place = source(method)
    if place is None:
        return "The Tensor itself"
    file = place[0].removeprefix("tinygrad_like/")
    return next((kind for kind, files in KINDS.items() if file in files.split()), "Names of other libraries")


def _class_page(cls: type, places: Places) -> str:
    found = dict(methods(cls, True))
    in_place = [name for name in found if name.endswith("_") and name[:-1] in found]
    shown = [name for name in found if name not in in_place and name not in MISSING]
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in shown:
        kinds[kind_of(name, found[name])].append(name)
    parts = [f"# {cls.__name__}", "", document(inspect.getdoc(cls) or ""),
             _table({kind: [f"[{name}](#{name.lower()})" for name in names] for kind, names in kinds.items()})]
    for kind, names in kinds.items():
        parts += [f"## {kind}", ""] if names else []
        parts += [_entry(name, found[name], places, f"reference/{cls.__name__}.md", level=3) for name in names]
    parts += ["## In place", "", "These write the result of the method without the underscore into the Tensor. A leaf "
              "that requires grad can be changed only under `no_grad()`.", "",
              ", ".join(f"`{name}`" for name in in_place), ""]
    rows = [f"| `{name}` | {_inline(hint)} |" for name, hint in sorted(MISSING.items())]
    parts += ["## Missing", "", "Methods of other libraries; the error for each says the same as this table.", "",
              "| | |", "| --- | --- |", *rows, ""]
    return "\n".join(parts)


def methods(cls: type, inherited: bool = False) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, also inherited ones if `inherited`."""
    for name in sorted({n for c in cls.__mro__[:-1] for n in vars(c)} if inherited else vars(cls)):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(cls, name)
        value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if (isinstance(value, property) or callable(value)) and (inherited or not _as_of_base(cls, name, value)):
            yield name, value


def _as_of_base(cls: type, name: str, value: Any) -> bool:
    """Whether a method without a docstring overrides a method with one."""
    return value.__doc__ is None and any(getattr(vars(base).get(name), "__doc__", None)
                                         for base in cls.__mro__[1:-1] if not base.__name__.startswith("_"))


def _entry(label: str, value: Any, places: Places, page: str, level: int = 2) -> str:
    shown = "" if isinstance(value, property) else signature(value, method="." in label or page.endswith("/Tensor.md"))
    kind = "property " if isinstance(value, property) else "class " if inspect.isclass(value) else ""
    parts = [f"{'#' * level} {label} {{ #{label.lower()} }}", "",
             f'<div class="signature"><code>{kind}{html.escape(label + shown)}</code></div>', ""]
    about = _arguments_apart(inspect.getdoc(value) or "", value)
    place = source(value)
    # Docstrings of other packages have their own markup: only the first paragraph is shown.
    parts.append(document(about if place or isinstance(value, property) else about.split("\n\n")[0]))
    links = []
    op = value.name.lstrip("_") if isinstance(value, Primitive) else label.rsplit(".", 1)[-1]
    op = _derived_as().get(op, op)
    if not inspect.isclass(value) and (ROOT / "docs" / "ops" / f"{op}.md").exists() and _computes(page):
        links.append(f"[derivation](../ops/{op}.md)")
    if place:
        file, line = place
        at = f"#__codelineno-0-{line}"
        links.append(f"[{file}](../{places.page(file)}{at})")
    return "\n".join([*parts, "", " · ".join(links), ""])


def _arguments_apart(about: str, value: Any) -> str:
    """A docstring with a line for each argument; in the source several descriptions may share a paragraph."""
    try:
        names = "|".join(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return about
    return re.sub(rf"(?<=[.)]) (?=(?:{names}): )", "\n", about) if names else about


@cache
def _derived_as() -> dict[str, str]:
    """Function -> the op that it calls; the list of op pages has these functions in brackets."""
    listed = (ROOT / "docs" / "ops" / "README.md").read_text(encoding="utf-8")
    return {name: op for op, names in re.findall(r"\]\((\w+)\.md\) \(([^)]*)\)", listed)
            for name in re.findall(r"`(?:linalg\.)?(\w+)`", names)}


def _computes(page: str) -> bool:
    """Whether names on this page of the reference may be names of ops."""
    return page.endswith(("/Tensor.md", ".ops.md", ".functional.md", ".linalg.md"))


def signature(value: Any, method: bool = False) -> str:
    """The signature, with types without their modules; of a class, that of its constructor; of a method, without self.
    """
    try:
        found = inspect.signature(value.__wrapped__ if isinstance(value, Primitive) else value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = list(found.parameters.values())
    if method and parameters and parameters[0].kind is parameters[0].POSITIONAL_OR_KEYWORD:
        found = found.replace(parameters=parameters[1:])
    kept = [p.replace(annotation=_Bare(p.annotation)) if isinstance(p.annotation, str) else p
            for p in found.parameters.values() if p.name != "by_other_names"]
    returned = found.return_annotation
    found = found.replace(parameters=kept,
                          return_annotation=_Bare(returned) if isinstance(returned, str) else returned)
    text = re.sub(r"<(?:function|class|op) '?([\w.]+)[^>]*>", r"\1", str(found))
    text = re.sub(r"ForwardRef\('([^']*)'[^)]*\)", r"\1", text)
    return re.sub(r"\b(?:[a-z_]\w*\.)+([A-Z]\w*)", r"\1", text)


class _Bare(str):
    """An annotation shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


def source(value: Any) -> tuple[str, int] | None:
    """The file, relative to the repository's root, and the line of a definition."""
    value = value.fget if isinstance(value, property) else value
    if isinstance(value, Primitive):
        value = getattr(value, "definition", value.forward)
    value = inspect.unwrap(value)
    try:
        file = Path(inspect.getsourcefile(value) or "")
        line = inspect.getsourcelines(value)[1]
    except (TypeError, OSError):
        return None
    ours = file.resolve().is_relative_to(ROOT) and "site-packages" not in file.parts
    return (str(file.resolve().relative_to(ROOT)), line) if ours else None


# Docstrings -----------------------------------------------------------------------------------------------------------


def document(text: str) -> str:
    """A docstring as HTML: paragraphs, indented blocks as code, and lines `name: description` as a list."""
    blocks = [b for b in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")) if b.strip()]
    parts: list[str] = []
    code: list[str] = []
    for i, block in enumerate([*blocks, ""]):
        lines = block.splitlines()
        if block and all(line.startswith("    ") for line in lines):
            code.append(block)
            continue
        if block.startswith(">>> "):  # an example and its output
            code.append(block)
            continue
        if code:
            parts.append(f"<pre><code>{html.escape(textwrap.dedent(_BLANK.join(code)))}</code></pre>")
            code = []
        items: list[list[str]] = []
        for line in lines:
            if i and _ITEM.match(line) and (not items or items[-1][-1].endswith((".", ";", ":", ")"))):
                items.append([line])
            elif items and items[-1][0] and (line.startswith(" ") or items[-1][-1][-1] not in ".;"):
                items[-1].append(line.strip())
            else:
                items.append(["", line.strip()])
        parts += list(_items(items))
    # A blank line would end the block of HTML.
    return '<div class="doc">' + "".join(parts).replace("\n\n", "\n&#8203;\n") + "</div>\n"


_BLANK = "\n\n"
_ITEM = re.compile(r"(?!Raises|Note|Sources?:)[\w*]+(?:, [\w*]+)*(?: \([^)]*\))?: ")


def _items(items: list[list[str]]) -> Iterator[str]:
    paragraph: list[str] = []
    for first, *more in items:
        if not first:
            paragraph += more
            continue
        if paragraph:
            yield f"<p>{_inline(' '.join(paragraph))}</p>"
            paragraph = []
        name, _, about = first.partition(": ")
        yield f"<dl><dt><code>{html.escape(name)}</code></dt><dd>{_inline(' '.join([about, *more]))}</dd></dl>"
    if paragraph:
        yield f"<p>{_inline(' '.join(paragraph))}</p>"


def _inline(text: str) -> str:
    coded: Callable[[re.Match], str] = lambda m: f"<code>{m[1]}</code>"  # noqa: E731
    return re.sub(r"`+([^`]+)`+", coded, html.escape(text, quote=False)).replace("$", "&#36;")
