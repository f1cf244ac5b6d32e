"""A Markdown extension: TeX between dollars, as on GitHub, becomes MathML, which needs no scripts or fonts.

Also lets browsers break lines within long names in code.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import cache
from itertools import pairwise
from typing import Any

from latex2mathml.converter import convert
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.postprocessors import Postprocessor

_BRACKETS = {"langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lVert": "‖", "rVert": "‖"}
_LETTER = re.compile(r'<mi mathvariant="normal">(\w)</mi>')
# A minus after one of these is a sign, not a difference; MathML needs a hint.
_SIGN = re.compile(r"(<mo[^>]*>(?:[=(,⟨\[·]|&#x0003D;|&#x00028;|&#x0002C;|&#x0005B;|&#x022C5;)</mo>(?:<mspace[^>]*/>)*)"
                   r"<mo>(&#x02212;|-|−)</mo>")
SPACE = "http://www.w3.org/1998/Math/MathML"
_FUNCTIONS = {f"{arc}{f}{h}" for arc in ("", "arc", "ar") for f in ("sin", "cos", "tan") for h in ("", "h")} | {
    "log", "ln", "exp", "erf", "sign", "det", "tr", "min", "max", "diag"}
_SIGNS = "∞", "⊤"  # identifiers, not operators with space around them
_MO, _MI = f"{{{SPACE}}}mo", f"{{{SPACE}}}mi"
ET.register_namespace("", SPACE)
_WORD = re.compile(r'(?:<mi mathvariant="normal">\w</mi>){2,}')  # \mathrm{out}, converted letter by letter


@cache
def mathml(tex: str, display: bool) -> str:
    """A <math> element. Raises ValueError if the formula cannot be converted."""
    for name, sign in _BRACKETS.items():  # after \\Big the converter knows brackets only as characters
        tex = re.sub(rf"(\\[Bb]igg?[lr]?)\s*\\{name}(?![a-zA-Z])", rf"\1{sign}", tex)
    tex = re.sub(r"\\mathrm\{(\w)\}", r"\\mathrm{\1\1\1}", tex)  # the converter makes a single letter italic
    try:
        made = convert(" ".join(tex.split()), display="block" if display else "inline")
    except Exception as error:
        raise ValueError(f"no MathML for {tex!r}: {error!r}") from error
    made = made.replace(r"\_", "_")  # the converter leaves it in \text
    lost = re.search(r">(&)<|(\\\S+)", made)
    if lost:
        raise ValueError(f"no MathML for {tex!r}: {lost[0]} was not converted")
    made = _SIGN.sub(r'\1<mo form="prefix">\2</mo>', made)
    return _apart(_WORD.sub(lambda m: _upright("".join(_LETTER.findall(m[0]))), made))


def _upright(word: str) -> str:
    if word == 3 * word[0]:
        return f'<mi mathvariant="normal">{word[0]}</mi>'
    return f"<mi>{word}</mi>"


def _apart(made: str) -> str:
    """Add space between cos and x in "cos x"; remove it around bars, which the converter takes for operators."""
    tree = ET.fromstring(made)
    for row in tree.iter():
        for e in row:
            if e.text in _SIGNS or (
                    e.tag == _MO and (e.text or "").isalpha() and e.text != "mod" and "under" not in row.tag):
                e.tag = _MI
            elif e.text in ("|", "‖"):
                e.attrib.update(lspace="0", rspace="0")
                if "minsize" not in e.attrib:
                    e.attrib.setdefault("stretchy", "false")  # else a bar with an exponent is too short and too low
    for row in tree.iter(f"{{{SPACE}}}mrow"):
        for a, b in reversed(list(pairwise(row))):
            if (_function(a) or _function(b)) and not {a.tag, b.tag} & {_MO, f"{{{SPACE}}}mspace"}:
                row.insert(list(row).index(b), ET.Element(f"{{{SPACE}}}mspace", width="0.17em"))
    for row in tree.iter():
        for i, e in enumerate(row):
            row[i] = _primed(e)
    return ET.tostring(tree, encoding="unicode")


def _primed(e: ET.Element) -> ET.Element:
    """Put a prime beside its letter, not into an exponent: the character is already small and raised."""
    name = e.tag.removeprefix(f"{{{SPACE}}}")
    if name not in ("msup", "msubsup"):
        return e
    top = e[-1]
    prime = next((p for p in (top, *top) if p.text in ("′", "″")), None)
    if prime is None:
        return e
    primed = _made("mrow", e[0] if name == "msup" else _made("msub", *e[:-1]), prime)
    if prime is top:
        return primed
    top.remove(prime)
    return _made("msup", primed, top)


def _made(name: str, *parts: ET.Element) -> ET.Element:
    e = ET.Element(f"{{{SPACE}}}{name}")
    e.extend(parts)
    return e


def _function(e: ET.Element) -> bool:
    return e.text in _FUNCTIONS if not len(e) else e.tag.endswith(("msup", "msub")) and _function(e[0])


class _Math(InlineProcessor):
    def __init__(self, pattern: str, md: Any, display: bool):
        super().__init__(pattern, md)
        self.display = display

    def handleMatch(self, m, data):  # noqa: N802  (Markdown's name)
        made = mathml(m[1], self.display)
        if self.display:
            made = f'<span class="formula">{made}</span>'
        elif m[2]:  # keep punctuation on the same line
            made = f'<span class="whole">{made}{m[2]}</span>'
        return self.md.htmlStash.store(made), m.start(0), m.end(0)


class _LongNames(Postprocessor):
    def run(self, text):
        text = re.sub(r">(\d[\d.]*e-\d+)</td>", r'><span class="number">\1</span></td>', text)  # no break at the minus
        return re.sub(r"<code>(\w{20,})</code>", lambda m: f"<code>{m[1].replace('_', '_<wbr>')}</code>", text)


class MathExtension(Extension):
    """Inline formulas $...$, and $$...$$ on lines of their own."""

    def extendMarkdown(self, md):  # noqa: N802
        # After inline code (190), before backslash escapes (180).
        md.inlinePatterns.register(_Math(r"\$\$([\s\S]+?)\$\$", md, True), "formula", 187)
        inline = r"(?<![\\$\w])\$(?![\s$])((?:\\.|[^$\\])+?)(?<!\s)\$(?![\w$])([.,:;?!)]*)"
        md.inlinePatterns.register(_Math(inline, md, False), "math", 186)
        md.postprocessors.register(_LongNames(md), "long names", 0)


def makeExtension(**options):  # noqa: N802
    return MathExtension(**options)
