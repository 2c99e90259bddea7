"""The child of the file review: searches a text for a regular expression, which may take for ever.

It runs alone (``python -I``) and imports nothing of the package.
"""

import json
import re
import sys
import warnings


def main() -> None:
    """Write what was matched, or null."""
    asked = json.load(sys.stdin)
    warnings.simplefilter("ignore")
    match = re.search(asked["pattern"], asked["text"], re.MULTILINE)
    json.dump(None if match is None else match.group(0)[:200], sys.stdout)


main()
