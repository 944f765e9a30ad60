"""`kgen`, and `python -m kgen` where the script is not on the path."""

import sys


def main() -> int:
    """Run :func:`kgen.cli.main.main`; return 130 silently on Ctrl-C.

    Ctrl-C may interrupt an import, after which numpy claims that its installation is broken.
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
