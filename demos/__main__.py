"""`python -m demos`: lists the demos."""

import ast
from pathlib import Path

for path in sorted(Path(__file__).parent.glob("*.py")):
    text = path.read_text(encoding="utf-8")
    if "\n@cli.command(" in text:
        about = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0].replace("\n", " ")
        print(f"python -m demos.{path.stem:20} {about}")
print("Each takes --help.")
