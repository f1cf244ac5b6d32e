"""Extract the texts of the explorer and the puzzles from docs/ops: run `python -m handbook.op_pages` after a change.

The package is installed without docs/, so tinygrad_like/learn/pages.json has each op's formula, its derivation in three
parts, and the code of puzzles, in plain text or MathML instead of TeX.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from pathlib import Path
from typing import Any

from tinygrad_like import ops
from tinygrad_like.learn.puzzles import PUZZLES, vjp
from tinygrad_like.learn.source import source

from .mathematics import SPACE, mathml

ROOT = Path(__file__).parent.parent
DOCS, EXTRACT = ROOT / "docs" / "ops", ROOT / "tinygrad_like" / "learn" / "pages.json"
_FIRST = [  # replaced before fractions and indices are parsed
    (r"\\(?:Big|big|left|right)[lr]?(?![a-z])", ""),
    (r"\\(?:mathrm|text|mathbf|operatorname|tilde)\s*\{([^{}]*)\}", r"\1"),
    (r"\\(?:mathbb|textstyle)\s*", ""), (r"\\lVert\s*|\s*\\rVert", "||"), (r"\\l(floor|ceil)\s*", r"\1("),
    (r"\s*\\r(?:floor|ceil)", ")"), (r"\\pm", "+-"),
    (r"\\(?:le|leq)(?![a-z])", "<="), (r"\\(?:ge|geq)(?![a-z])", ">="), (r"\*\*", ""),
]
_PLAIN = [
    (r"\\(?:mathbf|tilde)\s*(\w)", r"\1"), (r"\^\{?\\top\}?", "^T"), (r"\\(?:qquad|quad)", "   "), (r"\\[,;:!]", " "),
    (r"\\bar\s*\{\s*(?:\\tilde\s*)?(\w+)\s*\}", r"\1_bar"),
    (r"\\bar\s*(?:\\tilde\s*)?(?:\\([a-zA-Z]+)|(\w))", r"\1\2_bar"),
    (r"\\hat\s*\{?(\w)\}?", r"\1_hat"), (r"\\langle\s*", "<"), (r"\s*\\rangle", ">"), (r"\\cdot", "*"),
    (r"\\ne(?![a-z])", "!="), (r"\\bmod", "mod"), (r"\\top", "T"), (r"\\Rightarrow", "=>"),
    (r"\\partial", "d"), (r"\\varepsilon", "eps"), (r"\\infty", "inf"), (r"\\approx", "~"),
    (r"\\(?:dots|ldots)", "..."), (r"\\leftarrow", "<-"),
    (r"\\(?:odot|circ)", "*"), (r"\\times", "x"), (r"\\to(?![a-z])", "->"), (r"\\\\", ""), (r"\\_", "_"), (r"\\ ", " "),
    (r"\\([{}\[\]])", r"\1"),
]


def shown(tex: str) -> str:
    """A formula in MathML for the explorer: a line for each part, and dx for the x with a bar on the pages."""
    tex = re.sub(r"\\bar\s*(?:\{(?:\\tilde)?\s*(\\?\w+)\s*\}|(?:\\tilde\s*)?(\\[a-zA-Z]+|\w))", r"d\1\2 ", tex)
    parts = [part.strip(" ,.") for part in re.split(r"\\q?quad(?![^{]*\\end)", tex)]
    return "".join(mathml(part, True) for part in parts).replace(f' xmlns="{SPACE}"', "")


def plain(tex: str) -> str:
    """A formula or a paragraph in plain text, as far as possible."""
    for pattern, to in _FIRST:
        tex = re.sub(pattern, to, tex)
    tex = re.sub(r"\\begin\{cases\}(.*?)\\end\{cases\}", _cases, tex, flags=re.S)
    for _ in range(3):
        tex = re.sub(r"\\[dt]?frac\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*\{((?:[^{}]|\{[^{}]*\})*)\}", _quotient, tex)
        tex = re.sub(r"\\sqrt\s*\{((?:[^{}]|\{[^{}]*\})*)\}", r"sqrt(\1)", tex)
    inner = None
    while inner != tex:  # indices may be nested
        inner, tex = tex, re.sub(r"([_^])\{([^{}]{2,}?)\}", _script, tex)
    for pattern, to in _PLAIN:
        tex = re.sub(pattern, to, tex)
    tex = re.sub(r"(?<=\w)\\(?=[a-zA-Z])", " ", tex)  # cos\theta
    tex = re.sub(r"[{}$]", "", re.sub(r"\\([a-zA-Z]+)", r"\1", tex))
    tex = re.sub(r"\[([^]]*)\]\([^)]*\.md\)", r"\1", tex)
    return re.sub(r"[ \t]+", " ", tex).strip()


def _quotient(match: re.Match) -> str:
    one = r"\\?\w+(?:[_^](?:\w|\{[^{}]*\}))*|sqrt\([^()]*\)|\\sqrt\s*(?:\\?\w+|\{[^{}]*\})|\|+[^|]*\|+"
    above, below = (part if re.fullmatch(one, part) else f"({part})" for part in map(str.strip, match.groups()))
    goes_on = re.match(r"(?:\s|\\[,!;])*(?:[\w(]|\\(?!q?quad|text|[lgn]eq?\b|cdot|times|approx|to\b)[a-zA-Z])",
                       match.string[match.end():])
    return f"({above} / {below})" if goes_on else f"{above} / {below}"


def _cases(match: re.Match) -> str:
    rows = [[cell.strip() for cell in row.split("&")] for row in match[1].split(r"\\")]
    told = [f"{value} {where}" if where in ("else", "otherwise") else f"{value} if {where}" for value, where in rows]
    text = ", ".join(told)
    return text if match.string[:match.start()].rstrip().endswith("=") else f"({text})"


def _script(match: re.Match) -> str:
    if match[1] == "_":
        return f"[{match[2]}]"
    if re.fullmatch(r"[^\W_]+|\(.*\)|\\[a-zA-Z]+", match[2]):
        return f"^{match[2]}"
    return f"^({match[2]})"


def wrapped(text: str, width: int = 110) -> str:
    """The text with long lines wrapped; the rest of a wrapped line joins the next. Formulas keep their lines."""
    lines: list[str] = []
    rest = ""
    for line in text.splitlines():
        if rest and not line.strip():
            lines.append(rest)
            rest = ""
        *full, last = textwrap.wrap(f"{rest} {line}" if rest else line, width) or [""]
        lines += full
        rest = last if full else ""
        if not rest:
            lines.append(last)
    return "\n".join(lines + [rest] * bool(rest))


def extract(page: str) -> dict:
    """The formula of a page, its derivation in three parts, its rules in formulas, and the code of its puzzle."""
    formula = re.search(r"\$\$(.*?)\$\$", page, re.S)
    derivation = re.search(r"^## Derivation\n(.*?)^## ", page, re.M | re.S)
    assert formula and derivation
    parts = [p.strip() for p in re.split(r"\n\s*\n", derivation[1]) if p.strip()]
    while len(parts) < 3:  # split the longest part at the end of a sentence
        k = max(range(len(parts)), key=lambda i: len(parts[i]))
        pieces = re.split(r"(?<=[.:])\s+", parts[k], maxsplit=1)
        if len(pieces) == 1:
            pieces = [formula[0], parts[k]]
        parts[k:k + 1] = pieces
    n = len(parts)
    cuts = [0, -(-n // 3), -(-2 * n // 3), n]
    hints = ["\n\n".join(parts[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]
    tex = " ".join(formula[1].split())
    bars = [a or b for a, b in re.findall(r"\$\$(.*?)\$\$|\$([^$\n]*?)\$", derivation[1], re.S)]
    rules: dict[str, str] = {}  # the first rule of each input; later ones are other forms or special cases
    for bar in bars:
        if (of := re.match(r"\s*\\bar\s*\{?\s*(\\?[a-zA-Z]+)", bar)) and "=" in bar:
            rules.setdefault(of[1], shown(" ".join(bar.split())))
    told: dict = {"formula": plain(tex), "math": shown(tex), "hints": [wrapped(plain(hint)) for hint in hints]}
    code = re.search(r"^## In NumPy\n(.*?)^## ", page, re.M | re.S)
    told |= {"rules": list(rules.values())} if rules else {}
    return told | ({"code": re.findall(r"```py\n(.*?)```", code[1], re.S)} if code else {})


def shipped(name: str) -> list[str]:
    """The source of the forward and the rules of an op of the package."""
    op: Any = getattr(ops, name)
    at = source(op.forward)
    code = at.own_text()
    if isinstance(at.tree, ast.Lambda):  # declared by ufunc
        about = op.__doc__.partition("\n\n>>>")[0]  # without the example
        code = f'def {name}({ast.unparse(at.tree.args)}):\n    """{about}"""\n    return {ast.unparse(at.tree.body)}'
    found = [(op.inputs[i], source(rule)) for i, (rule, _) in sorted(op.rules.items())]
    before = [f"{rule.own_text()}\n\n\n" for _, rule in found if not isinstance(rule.tree, ast.Lambda)]
    rules = [f"{n}={rule.own_text() if isinstance(rule.tree, ast.Lambda) else rule.tree.name}" for n, rule in found]
    return [f"@primitive\n{code}", "".join(before) + vjp(name, rules)]


def extracted() -> dict[str, dict]:
    found = {page.stem: extract(page.read_text(encoding="utf-8"))
             for page in sorted(DOCS.glob("*.md")) if page.name != "README.md"}
    for name in PUZZLES:
        found[name].setdefault("code", shipped(name))
    found["batch_norm"]["hints"] = found["layer_norm"]["hints"]  # the page of layer_norm derives both
    return found


if __name__ == "__main__":
    EXTRACT.write_text(json.dumps(extracted(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(EXTRACT)
