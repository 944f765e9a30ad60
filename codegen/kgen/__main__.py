"""`kgen`, and `python -m kgen` where the script is not on the path."""

import sys


def main() -> int:
    """As :func:`kgen.cli.main.main`, and 130 without a word if Ctrl-C comes, whatever then runs.

    That may be an import: numpy's says after one that numpy is not installed well.
    """
    interrupts = []
    try:
        import signal

        def interrupt(*_: object) -> None:
            interrupts.append(True)
            raise KeyboardInterrupt

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # as nohup has it not
            signal.signal(signal.SIGINT, interrupt)
        from kgen.cli.main import main as command

        return command()
    except KeyboardInterrupt:
        return 130
    except Exception:
        if interrupts:
            return 130
        raise


if __name__ == "__main__":
    sys.exit(main())
