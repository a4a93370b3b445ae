#!/usr/bin/env python3
"""A command that prints the core properties in an office document (docx, xlsx, pptx), which are XML for a stylesheet.

Reads the document from standard input. Exits with 1, and a reason on standard error, when there are none. Needs nothing but
Python 3.
"""

import io
import sys
import zipfile

PROPERTIES_BYTES_MAX = 1 << 20


def main():
    try:
        with zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())) as document:
            with document.open("docProps/core.xml") as properties:
                sys.stdout.buffer.write(properties.read(PROPERTIES_BYTES_MAX))
    except (zipfile.BadZipFile, KeyError, RuntimeError) as problem:
        sys.exit(f"there are no properties in it: {problem}")


if __name__ == "__main__":
    main()
