"""``python -m ieql`` is the command line."""

from __future__ import annotations

from ieql.cli import main

if __name__ == "__main__":
    main()
