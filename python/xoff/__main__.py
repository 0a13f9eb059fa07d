"""``python -m xoff`` is the command ``xoff``."""

import sys

from ._command import main

sys.exit(main())
