"""`python -m interp` is the command `interp`."""
import sys

from interp.cli import main

sys.exit(main())
