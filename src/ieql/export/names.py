"""Names of columns as identifiers of a programming language, and as text that stays text.

A column may be called anything: ``n [1/min]``, ``int``, ``*/``. Identifiers are plain ASCII words,
different from one another and from what the language has taken.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

__all__ = ["identifier", "identifiers", "printable"]

LONGEST = 24
"""C99 tells outer names apart by 31 characters; some are left for a prefix and a number."""
GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)")


def identifier(name: str) -> str:
    """A name as an ASCII word, not yet unique.

    >>> identifier("n [1/min]"), identifier("1st"), identifier("π_rad"), identifier("*/")
    ('n_1_min', 'x_1st', 'pi_rad', 'x')
    """
    letters = "".join(_ascii(c) for c in unicodedata.normalize("NFKD", name))
    # No underscores in front and no two together: those names belong to the compiler.
    word = re.sub("_+", "_", letters).strip("_")
    if not word or word[0].isdigit():
        word = f"x_{word}"
    return word[:LONGEST].rstrip("_")


def _ascii(character: str) -> str:
    if character.isascii():
        return character if character.isalnum() else "_"
    if unicodedata.combining(character):
        return ""  # the accent of a letter that stands before it
    if character == "ß":
        return "ss"
    greek = GREEK.fullmatch(unicodedata.name(character, ""))
    if not greek:
        return "_"
    word = greek[2].lower().replace("lamda", "lambda")
    return word if greek[1] == "SMALL" else word.capitalize()


def identifiers(names: Iterable[str], reserved: Collection[str], taken: set[str]) -> list[str]:
    """Unique identifiers for names; they are added to `taken`.

    >>> identifiers(["a b", "a-b", "int"], {"int"}, set())
    ['a_b', 'a_b_2', 'int_']
    """
    words = []
    for name in names:
        word = identifier(name)
        candidate, k = f"{word}_" if word in reserved else word, 2
        while candidate in taken or candidate in reserved:
            candidate, k = f"{word}_{k}", k + 1
        taken.add(candidate)
        words.append(candidate)
    return words


def printable(text: str) -> str:
    r"""Text on one line for a comment: what is not to be seen, and the backslash, by its number.

    Line ends and backslashes could end a comment or a string; marks that reverse the direction of
    writing could show other code than the compiler reads.

    >>> print(printable("two\nlines"))
    two<U+000A>lines
    """
    hidden = ("C", "Zl", "Zp")
    return "".join(
        f"<U+{ord(c):04X}>" if c == "\\" or unicodedata.category(c).startswith(hidden) else c
        for c in text
    )
