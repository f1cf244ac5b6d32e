"""Check the English of pages, docstrings, comments and messages: `python -m handbook.english`, part of `make lint`.

RULES has patterns for the Style section of CONTRIBUTING, each with a better form. Code, formulas, addresses and tables
are skipped, including CONTRIBUTING's table of sentences before and after.
"""

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 45  # words in a sentence of a page
NOUNS = "Tensor|array|index|number|function|op|Module|model|class|matrix|integer|leaf|file|dtype|input|parameter"
RULES = {re.compile(pattern): advice for pattern, advice in {
    rf"(?<![Tt]here )\b(?:is|are) no (?:{NOUNS})s?\b(?! (?:of|for|in|to|that)\b)": "is not a ...",
    r"(?<!zeroed )\banew\b": "again",
    r"\bwhat (?:it|they|he|she|one) (?:is|are|was|were) (?:given|made of|told)\b": "its arguments, its parts",
    r"\bthat (?:is|are) there\b": "existing",
    r"\bfor ever\b": "forever",
    r"\bas (?:PyTorch|NumPy|tinygrad)'s programs (?:have|write|import)\b": "as in",
    r"\b(?:is|are) being \w+ed\b": "the active voice",
    r"\bof which there (?:is|are)\b": "there is only one ...",
    r"\bwhat comes (?:before|after|next)\b": "the code before, the next ...",
    r"\bby which (?:it|they)\b": "split the sentence",
    r"\bmakes? (?:of|from) (?:it|them|that)\b": "computes from it, turns it into",
    r"\bso that\b[^.;:?]*\bso that\b": "'so that' once in a sentence",
    r"\bwhat\b[^.;:?]*\bwhat\b[^.;:?]*\bwhat\b": "name the things",
    r"\b(?:very|quite|basically|simply|obviously)\b": "leave it out",
    r"\b(the|and|with|from|for|that|this|which|are|not) \1\b": "a word twice",
    r"\b(?:thereof|thereby|wherein|hereby|as yet)\b": "leave it out",
    r"\b(?:informations|softwares|advices|datas)\b": "no plural",
    r"\bmakes of (?!(?:up|the year)\b)": "returns for, computes from",
    r"\b(?:first|second|third)-level cache\b": "L1, L2, L3 cache",
    r"\b(?:nano|micro|milli)?seconds (?:of|for) an? (?:multiplication|number|element)\b": "seconds per ...",
    r"\bthat (?:is|are) to be \w+ed\b": "to copy, to check",
    r"\w[,.;:]? #$": "a '#' left from a line break",
}.items()}
SKIPPED = re.compile(
    r"^```.*?^```|\$\$.*?\$\$|<!--.*?-->|^\|[^\n]*|^#[^\n]*|`[^`\n]*`|\$[^$\n]*\$|\]\([^)]*\)|<[^>\n]*>", re.M | re.S)


def _paragraphs_of_page(text):
    """(line, text) of each paragraph and list item, without code, tables, headings and formulas."""
    text = SKIPPED.sub(lambda m: re.sub(r"[^\n]", " " if "\n" in m[0] or m[0][0] in "|#" else "\u25a1", m[0]), text)
    for match in re.finditer(r"(?:^(?!\s*$).+\n?)(?:^(?!\s*$|\s*[-*] |\s*\d+\. ).+\n?)*", text, re.M):
        yield text.count("\n", 0, match.start()) + 1, match[0]


def _paragraphs_of_source(text):
    """(line, text) of each comment, and each string of three words or more."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or token.type == tokenize.STRING and len(token.string.split()) > 2:
            yield token.start[0], re.sub(r"`[^`\n]*`", "\u25a1", token.string)


def findings(path: Path):
    """(line, words, advice) of each finding in a page or a module."""
    text, page = path.read_text(encoding="utf-8"), path.suffix == ".md"
    for line, paragraph in (_paragraphs_of_page if page else _paragraphs_of_source)(text):
        joined = re.sub(r"\n[ #]*", lambda m: " " * len(m[0]), paragraph)
        for part in re.finditer(r"[^.:;?!|]+", joined) if page else ():
            if len(re.findall(r"[A-Za-z][\w'-]*", part[0])) > LONGEST:
                yield line, " ".join(part[0].split()[:6]) + " ...", f"more than {LONGEST} words: two sentences"
        for rule, advice in RULES.items():
            for match in rule.finditer(joined):
                yield line + paragraph.count("\n", 0, match.start()), match[0], advice


def main() -> int:
    files = subprocess.run(["git", "ls-files", "*.md", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [name for name in files.stdout.split() if not name.startswith(("docs/programs/", "handbook/english"))]
    found = [f"{name}:{line}: {words!r}: {advice}" for name in files for line, words, advice in findings(ROOT / name)]
    print("\n".join(found) or f"English: {len(files)} files read")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
