"""`python -m tests.schema` writes docs/envelope.schema.json anew."""

import json
import sys

from runwire_normalizers.schema import json_schema
from tests.rooms import ROOT

PATH = ROOT / "docs" / "envelope.schema.json"


def text() -> str:
    return json.dumps(json_schema(), indent=2, sort_keys=True) + "\n"


def main() -> int:
    PATH.write_text(text(), "utf-8")
    print(PATH.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
