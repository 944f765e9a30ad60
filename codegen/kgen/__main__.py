"""Entry point of the `kgen` command and of `python -m kgen`."""

import sys


def main() -> int:
    """Run :func:`kgen.cli.main.main`; return 130 without a message on Ctrl-C.

    Ctrl-C may interrupt an import, after which numpy reports a broken installation.
    """
    interrupts = []
    try:
        import signal

        def interrupt(*_: object) -> None:
            interrupts.append(True)
            raise KeyboardInterrupt

        # A process that was started with SIGINT ignored continues to ignore it.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
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
