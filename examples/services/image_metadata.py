#!/usr/bin/env python3
"""An HTTP service that says in Turtle what can be read from the head of a PNG, JPEG or GIF.

Webloom posts an image, with its media type in Content-Type and its address in Webloom-Page-Url. The answer is RDF; an image
that cannot be read is answered with 415, which Webloom does not try again. Needs nothing but Python 3.

    python3 image_metadata.py --port 9001
"""

import argparse
import struct
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY_BYTES_MAX = 32 << 20
TEXT_BYTES_MAX = 4096


class NotAnImage(Exception):
    """The bytes are no image, or none that is known here."""


def png(data):
    """Size, depth and texts of a PNG."""
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    facts = {"width": width, "height": height, "bitsPerChannel": depth, "texts": []}
    facts["colours"] = {0: "grey", 2: "rgb", 3: "palette", 4: "grey and alpha", 6: "rgb and alpha"}.get(colour)
    place = 8
    while place + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        chunk = data[place + 8:place + 8 + length]
        if kind == b"tEXt" and b"\0" in chunk:
            key, value = chunk.split(b"\0", 1)
            facts["texts"].append((key.decode("latin-1"), value[:TEXT_BYTES_MAX].decode("latin-1")))
        elif kind == b"zTXt" and b"\0" in chunk:
            key, value = chunk.split(b"\0", 1)
            # Never more than is wanted, whatever it would become.
            text = zlib.decompressobj().decompress(value[1:], TEXT_BYTES_MAX)
            facts["texts"].append((key.decode("latin-1"), text.decode("latin-1")))
        elif kind == b"IEND":
            break
        place += 12 + length
    return facts


def gif(data):
    """Size of a GIF."""
    width, height = struct.unpack("<HH", data[6:10])
    return {"width": width, "height": height, "colours": "palette"}


def jpeg(data):
    """Size and comments of a JPEG."""
    facts = {"texts": []}
    place = 2
    while place + 4 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        length = struct.unpack(">H", data[place + 2:place + 4])[0]
        segment = data[place + 4:place + 2 + length]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            depth, height, width, channels = struct.unpack(">BHHB", segment[:6])
            facts.update(width=width, height=height, bitsPerChannel=depth)
            facts["colours"] = {1: "grey", 3: "rgb", 4: "cmyk"}.get(channels)
            return facts
        if marker == 0xFE:
            facts["texts"].append(("Comment", segment[:TEXT_BYTES_MAX].decode("utf-8", "replace")))
        place += 2 + length
    raise NotAnImage("there is no frame in it")


def facts_of(data):
    """What is known of an image."""
    for start, read in ((b"\x89PNG\r\n\x1a\n", png), (b"GIF8", gif), (b"\xff\xd8\xff", jpeg)):
        if data.startswith(start):
            try:
                return read(data)
            except (struct.error, zlib.error, IndexError) as error:
                raise NotAnImage(str(error)) from error
    raise NotAnImage("it is neither PNG, JPEG nor GIF")


def literal(text):
    """A text as Turtle writes it."""
    escaped = "".join(
        "\\" + char if char in '"\\' else char if char >= " " else f"\\u{ord(char):04X}" for char in text
    )
    return f'"{escaped}"'


def turtle(facts):
    """The facts as statements about the page, which is the base."""
    lines = ["@prefix exif: <http://www.w3.org/2003/12/exif/ns#> .", "@prefix img: <http://images.example/terms#> ."]
    lines.append(f"<> exif:width {facts['width']} ; exif:height {facts['height']} .")
    if facts.get("bitsPerChannel"):
        lines.append(f"<> img:bitsPerChannel {facts['bitsPerChannel']} .")
    if facts.get("colours"):
        lines.append(f"<> img:colours {literal(facts['colours'])} .")
    for key, value in facts.get("texts", []):
        lines.append(f"<> img:text [ img:key {literal(key)} ; img:value {literal(value)} ] .")
    return "\n".join(lines) + "\n"


class Handler(BaseHTTPRequestHandler):
    """Answers a post."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802, the name is the library's
        length = int(self.headers.get("Content-Length", 0))
        if length > BODY_BYTES_MAX:
            self.close_connection = True
            return self.answer(413, "text/plain", "too long\n")
        data = self.rfile.read(length)
        try:
            return self.answer(200, "text/turtle", turtle(facts_of(data)))
        except NotAnImage as problem:
            return self.answer(415, "text/plain", f"{problem}\n")

    def answer(self, status, media_type, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{media_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        """Keeps quiet; the crawl counts."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=9001, help="0 lets the system choose")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
