"""Put right what no text file should have: trailing blanks, a missing or a second last line end.

    python .ci/tidy.py FILE...

Writes what can be put right and returns 1 if there was anything, or marks of an unfinished merge.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MARKS = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)


def tidied(text: str) -> str:
    """The text with no trailing blanks and one line end at its end; an empty one stays empty."""
    text = re.sub(r"[ \t]+$", "", text.replace("\r\n", "\n"), flags=re.MULTILINE)
    return text.rstrip("\n") + "\n" if text.strip() else ""


def main(names: list[str]) -> int:
    """Tidy the files; 1 if one was changed or has to be looked at."""
    found = 0
    for path in map(Path, names):
        before = path.read_bytes().decode("utf-8")
        after = tidied(before)
        if after != before:
            path.write_bytes(after.encode("utf-8"))
            print(f"{path}: tidied")
            found = 1
        if path.suffix != ".rst" and MARKS.search(after):
            print(f"{path}: marks of an unfinished merge")
            found = 1
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
