"""``python -m ieql``, and the command ``ieql``, are the command line."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C at any moment, also while it loads, gives 130 and no traceback.

    Once it has ended, whatever is left to be tidied up is not to be interrupted: it takes a moment.
    """
    try:
        from ieql.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
    except SystemExit as end:
        # What typer makes of a Ctrl-C outside of a command, where it would say 1.
        raise SystemExit(130) if type(end.__context__).__name__ == "Abort" else end from None
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
