#!/usr/bin/env python3
"""A command that says in Turtle what a PDF says of itself: title, author, dates, pages.

Reads the PDF from standard input; WEBLOOM_PAGE_URL has its address. Exits with 1, and a reason on standard error, when it is no
PDF. Reads the document information of files whose objects are plain or in compressed object streams; needs nothing but Python 3.

    WEBLOOM_PAGE_URL=http://a.example/x.pdf python3 pdf_metadata.py < x.pdf
"""

import re
import sys
import zlib

UNPACKED_BYTES_MAX = 32 << 20
KEYS = {"Title": "dcterms:title", "Author": "dcterms:creator", "Subject": "dcterms:subject", "Keywords": "schema:keywords",
        "Creator": "schema:softwareRequirements"}
DATES = {"CreationDate": "dcterms:created", "ModDate": "dcterms:modified"}
STRING = rb"(?:\((?P<text>(?:\\.|[^\\()]|\((?:\\.|[^\\()])*\))*)\)|<(?P<hex>[0-9A-Fa-f\s]*)>)"


def unpacked(data):
    """The file, with what is in its compressed object streams behind it."""
    parts, room = [data], UNPACKED_BYTES_MAX
    for match in re.finditer(rb"/ObjStm.{0,400}?stream\r?\n", data, re.DOTALL):
        try:
            inner = zlib.decompressobj().decompress(data[match.end():], room)
        except zlib.error:
            continue
        room -= len(inner)
        parts.append(inner)
        if room <= 0:
            break
    return b"\n".join(parts)


def text_of(match):
    """A string of a PDF as text."""
    if match["hex"] is not None:
        digits = re.sub(rb"\s", b"", match["hex"])
        raw = bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())
    else:
        simple = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"\n": b""}

        def escape(found):
            word = found[1]
            return bytes([int(word, 8) & 255]) if word[:1].isdigit() else simple.get(word, word)

        raw = re.sub(rb"\\([0-7]{1,3}|.)", escape, match["text"], flags=re.DOTALL)
    if raw.startswith(b"\xfe\xff"):
        return raw[2:].decode("utf-16-be", "replace")
    if raw.startswith(b"\xef\xbb\xbf"):
        return raw[3:].decode("utf-8", "replace")
    return raw.decode("latin-1")


def date_of(text):
    """D:20240506070809+02'00' as an xsd:dateTime, or nothing."""
    match = re.match(r"D:(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:(Z)|([+-])(\d\d)'?(\d\d)?)?", text)
    if not match:
        return None
    year, month, day, hour, minute, second, zulu, sign, zone, rest = match.groups()
    offset = "Z" if zulu else f"{sign}{zone}:{rest or '00'}" if sign else ""
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}{offset}"


def literal(text):
    """A text as Turtle writes it."""
    escaped = "".join(
        "\\" + char if char in '"\\' else char if char >= " " else f"\\u{ord(char):04X}" for char in text
    )
    return f'"{escaped}"'


def statements(data):
    """What the PDF says of itself, and how many pages it has."""
    data = unpacked(data)
    yield "a bibo:Document"
    for key, prop in {**KEYS, **DATES}.items():
        match = re.search(rb"/" + key.encode() + rb"\s*" + STRING, data, re.DOTALL)
        text = text_of(match).strip() if match else ""
        if text and key in KEYS:
            yield f"{prop} {literal(text)}"
        elif text and date_of(text):
            yield f'{prop} "{date_of(text)}"^^xsd:dateTime'
    pages = len(re.findall(rb"/Type\s*/Page(?![A-Za-z])", data))
    if pages:
        yield f"bibo:numPages {pages}"


def main():
    data = sys.stdin.buffer.read()
    if b"%PDF-" not in data[:1024]:
        sys.exit("it is no PDF")
    print("@prefix dcterms: <http://purl.org/dc/terms/> .")
    print("@prefix bibo: <http://purl.org/ontology/bibo/> .")
    print("@prefix schema: <http://schema.org/> .")
    print("@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .")
    print("<> " + " ;\n   ".join(statements(data)) + " .")


if __name__ == "__main__":
    main()
