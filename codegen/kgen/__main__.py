"""`python -m kgen` is the `kgen` command, for where the script is not on the path."""

import sys

from kgen.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
