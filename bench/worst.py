"""Feeds hostile inputs of up to 10 MB to `webloom extract` and prints what each cost, as JSON.

usage: worst.py WEBLOOM [MEGABYTES]

Processor seconds and peak memory are of a process of its own for each input, by the kernel's books; the
time is what the page took beyond an empty one. Exits 1 when one takes more than 2 s or 50 times its size.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile

SIZE = 10_000_000


def fill(piece, size=None, head="", tail=""):
    """The piece again and again, `{n}` in it counting."""
    size = size or SIZE
    out, total, number = [head], len(head) + len(tail), 0
    counted = "{n}" in piece
    while total < size:
        text = piece.replace("{n}", str(number)) if counted else piece
        out.append(text)
        total += len(text)
        number += 1
    out.append(tail)
    return "".join(out)[:size] if not tail else "".join(out)


def cases():
    html = "text/html"
    yield "nested div", html, fill("<div>")
    yield "nested formatting", html, fill("<b><i><u>")
    yield "formatting and paragraphs", html, fill("<p><b><font size={n}>x")
    yield "misnested", html, fill("<a><b><p></a></b>")
    yield "nested tables", html, fill("<table><tr><td>")
    yield "text fostered by tables", html, "<table>" + fill("x<a>")
    yield "select and option", html, fill("<select><option>")
    yield "attributes of one tag", html, fill(" a{n}=1", head="<p", tail=">x")
    yield "many attributes", html, fill("<p a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8>")
    yield "unclosed tag", html, "<p " + fill("x='")
    yield "less-than", html, fill("<")
    yield "ampersands", html, fill("&")
    yield "references", html, fill("&notit;&#x110000;")
    yield "comments", html, fill("<!--->-")
    yield "unclosed comment", html, "<!--" + fill("-")
    yield "unclosed script", html, "<script>" + fill("<!--<script>")
    yield "doctypes", html, fill("<!DOCTYPE html>")
    yield "nul", html, fill("\0<p>\0")
    yield "carriage returns", html, fill("\r")
    yield "end tags", html, fill("</p></div>")
    yield "templates", html, fill("<template>")
    yield "svg and math", html, fill("<svg><math><mi><foreignObject>")
    yield "links", html, fill("<a href=/p{n}>word {n}</a>")
    yield "relative links", html, fill("<a href=../../{n}>{n}</a>")
    yield "images", html, fill("<img src={n}.png alt=x>")
    yield "rel", html, fill("<link rel='a b c d e f g' href={n}>")
    yield "metas", html, fill("<meta property=og:image content={n}><meta name=dc.title content=x>")
    yield "rdfa prefixes, nested", html, fill("<p prefix='a{n}: http://a/ b{n}: http://b/ c{n}: http://c/'>")
    yield "rdfa prefixes, one element", html, fill("p{n}: http://p/{n}/ ", head="<p prefix='", tail="' property='p1:x'>y")
    yield "rdfa properties", html, fill("<p property='a b c d e f' about='#{n}'>x</p>", head="<div vocab=http://v/>")
    yield "rdfa incomplete", html, fill("<p rel='a b c d'><p about=x>", head="<div vocab=http://v/>")
    yield "rdfa deep literal", html, fill("<b property=a>", head="<div vocab=http://v/>")
    yield "rdfa nested xml literals", html, fill("<b property=rdf:a datatype=rdf:XMLLiteral>x")
    yield "rdfa lists", html, fill("<b inlist property=rdf:a>x</b>")
    yield "rdfa patterns", html, fill("<b typeof=rdfa:Pattern resource=#p{n}><i property=rdfa:copy href=#p{n}></i><i property=rdf:a>x</i></b>")
    yield "rdfa copies of one pattern", html, "<b typeof=rdfa:Pattern resource=#p>" + "<i property=rdf:a>x{n}</i>" * 1000 + "</b>" + fill("<b about=#a{n}><i property=rdfa:copy href=#p></i></b>", SIZE - 100_000)
    yield "itemref web", html, fill("<p itemscope itemref='a b c'></p>", SIZE // 2) + "<div id=a>" + fill("<i itemprop=x>{n}</i>", SIZE // 2)
    yield "itemref chain", html, fill("<p id=a{n} itemscope itemprop=x itemref='a{n}0'>")
    yield "itemref to all", html, "<p itemscope itemref='" + fill("i{n} ", SIZE // 2) + "'>" + fill("<b id=i{n} itemprop=a>x</b>", SIZE // 2)
    yield "nested items", html, fill("<p itemscope itemprop=a>")
    yield "itemprops", html, "<p itemscope>" + fill("<b itemprop='a b c d e f g h'>x</b>")
    yield "nested microformats", html, fill("<p class='h-card p-name h-entry e-content'>x")
    yield "microformats e-content", html, fill("<p class='h-entry'><b class='e-content'><i>x")
    yield "microformat classes", html, fill("p-a{n} ", head="<p class='h-card'><b class='", tail="'>x")
    yield "v1 classes", html, fill("<p class='vcard hentry vevent fn n org url'>x")
    for name, block in [
        ("deep arrays", fill("[")),
        ("deep objects", fill('{"a":')),
        ("quotes", fill('"')),
        ("backslashes", '{"a":"' + fill("\\")),
        ("unclosed strings", fill('{"a": "b, ')),
        ("single quotes", fill("{'a': 'b',")),
        ("comments", fill("/* ") + "{}"),
        ("entities", fill("&quot;")),
        ("objects in a row", fill('{"@id":"a{n}"}')),
        ("one large array", '{"@context":"https://schema.org","@graph":[' + fill('{"@type":"Thing","name":"x{n}","sameAs":["http://a/{n}"]},') + "{}]}"),
        ("large list", '{"@context":{"a":{"@id":"http://a/","@container":"@list"}},"a":[' + fill("{n},") + "0]}"),
        ("large context", '{"@context":{' + fill('"t{n}":"http://t/{n}",') + '"z":"http://z/"},"t1":"x"}'),
        ("scoped contexts", '{"@context":{"a":{"@id":"http://a/","@context":{"a":{"@id":"http://b/"}}}},"@graph":[' + fill('{"a":{"a":{"a":1}}},') + "{}]}"),
        ("context in each", '{"@graph":[' + fill('{"@context":"https://schema.org","name":"x"},') + "{}]}"),
        ("nested contexts", fill('{"@context":{"a":"http://a/{n}"},"a":')),
        ("long keys", '{"@context":"https://schema.org",' + fill('"key{n}":1,') + '"name":"x"}'),
        ("numbers", '{"http://a/":[' + fill("1e400,0.1,123456789012345678901234567890,") + "1]}"),
    ]:
        yield "json-ld: " + name, html, f'<script type="application/ld+json">{block}</script>'
        yield "json-ld document: " + name, "application/ld+json", block
    bomb = "<!DOCTYPE a [<!ENTITY e0 'xxxxxxxxxx'>" + "".join(
        f"<!ENTITY e{n} '{('&e%d;' % (n - 1)) * 10}'>" for n in range(1, 20)
    )
    yield "entity bomb in xhtml", "application/xhtml+xml", bomb + "]><html xmlns='http://www.w3.org/1999/xhtml'>&e19;</html>"
    yield "entity bomb in rdf/xml", "application/rdf+xml", bomb + "]><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>&e19;</rdf:RDF>"
    yield "many entities", "application/xml", "<!DOCTYPE a [" + fill("<!ENTITY e{n} 'x'>", SIZE // 2) + "]><a>" + fill("&e1;", SIZE // 2)
    yield "nested xml", "application/xml", fill("<a>")
    yield "xml namespaces", "application/xml", fill("<a xmlns:p{n}='u{n}'>")
    yield "xml end tags", "application/xml", "<a>" + fill("</b>")
    yield "svg with rdfa", "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'>" + fill("<g property='rdf:a' prefix='p{n}: http://x/'>")
    rdf = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:a='http://a/'>"
    yield "rdf/xml nested", "application/rdf+xml", rdf + fill("<rdf:Description><a:b>")
    yield "rdf/xml literals", "application/rdf+xml", rdf + "<rdf:Description><a:b rdf:parseType='Literal'>" + fill("<a:x xmlns:p{n}='u'>")
    yield "rdf/xml statements", "application/rdf+xml", rdf + fill("<rdf:Description rdf:about='x{n}'><a:b>y</a:b></rdf:Description>") + "</rdf:RDF>"
    yield "turtle brackets", "text/turtle", fill("[ <a> ")
    yield "turtle lists", "text/turtle", fill("( ")
    yield "turtle prefixes", "text/turtle", fill("@prefix p{n}: <http://p/{n}> . p{n}:a p{n}:b p{n}:c .\n")
    yield "turtle mistakes", "text/turtle", fill("<a> <b> . ")
    yield "n-quads", "application/n-quads", fill("<http://a/{n}> <http://b/> \"c\" <http://g/{n}> .\n")
    yield "n-triples garbage", "application/n-triples", fill("<a\n")
    yield "rss items", "application/rss+xml", "<rss version='2.0'><channel>" + fill("<item><title>x{n}</title><link>http://a/{n}</link><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item>") + "</channel></rss>"
    yield "rss nested", "application/rss+xml", "<rss><channel>" + fill("<item>")
    yield "atom xhtml", "application/atom+xml", "<feed xmlns='http://www.w3.org/2005/Atom'><entry><content type='xhtml'>" + fill("<div xmlns='http://www.w3.org/1999/xhtml'>x")
    yield "sitemap", "application/xml", "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>" + fill("<url><loc>http://a/{n}</loc></url>") + "</urlset>"
    yield "opml", "text/x-opml", "<opml><body>" + fill("<outline text='x' xmlUrl='http://a/{n}'>")
    yield "json feed", "application/feed+json", '{"version":"https://jsonfeed.org/version/1.1","items":[' + fill('{"id":"{n}","url":"http://a/{n}"},') + "{}]}"
    yield "csv row", "text/csv", fill("a,")
    yield "csv quotes", "text/csv", fill('"')
    yield "csv rows", "text/csv", "a,b\n" + fill("{n},x\n")
    yield "vcards", "text/vcard", fill("BEGIN:VCARD\nFN:x\nEND:VCARD\n")
    yield "vcard folded", "text/vcard", "BEGIN:VCARD\nNOTE:" + fill("\n x")
    yield "vcard quoted-printable", "text/vcard", "BEGIN:VCARD\nNOTE;ENCODING=QUOTED-PRINTABLE:" + fill("=\n")
    yield "calendar", "text/calendar", fill("BEGIN:VCALENDAR\n")
    yield "png chunks", "image/png", b"\x89PNG\r\n\x1a\n" + b"\0\0\0\x05tEXta\0bcd0000" * (SIZE // 17)
    yield "jpeg markers", "image/jpeg", b"\xff\xd8" + b"\xff\xe1\0\x04ab" * (SIZE // 6)
    yield "gzip of zeros", "application/gzip", gzip.compress(b"\0" * (1 << 30), 1)
    yield "gzip of links", "application/gzip", gzip.compress(("<urlset>" + fill("<url><loc>http://a/{n}</loc></url>", 60_000_000)).encode(), 1)
    yield "zeros", None, b"\0" * SIZE
    yield "no content type: text", None, fill("word ")
    yield "utf-16", "text/html; charset=utf-16", b"\xff\xfe" + fill("<p>x", SIZE // 2).encode("utf-16-le")


# A process inherits the peak memory of the one it is forked from, so a small one does it.
RUNNER = """
import os, subprocess, sys
with open(os.devnull, 'wb') as nowhere:
    process = subprocess.Popen(sys.argv[1:], stdout=nowhere, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, status)
sys.stdout.flush()
sys.stdout.buffer.write(errors[:300])
"""


def measure(webloom, content_type, body):
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        command = [sys.executable, "-c", RUNNER, webloom, "extract", file.name, "--base", "http://example.org/p"]
        if content_type:
            command += ["--content-type", content_type]
        printed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
    figures, _, errors = printed.partition("\n")
    seconds, peak, status = figures.split()
    return float(seconds), int(peak), int(status), errors


def main():
    global SIZE
    webloom = sys.argv[1]
    if len(sys.argv) > 2:
        SIZE = int(float(sys.argv[2]) * 1_000_000)
    base_seconds, base_bytes, _, _ = measure(webloom, "text/html", b"")
    rows, bad = [], 0
    for name, content_type, body in cases():
        body = body if isinstance(body, bytes) else body.encode()
        seconds, peak, status, errors = measure(webloom, content_type, body)
        # What is held of a 10 MB page; a small one may have a few MB all the same.
        times = (peak - base_bytes) / max(len(body), 1_000_000)
        fails = status != 0 or seconds - base_seconds > 2.0 or times > 50
        bad += fails
        first = errors.splitlines()[0] if errors else ""
        rows.append({"case": name, "bytes": len(body), "seconds": round(seconds - base_seconds, 3), "memory_times": round(times, 1), "status": status, "first_diagnostic": first[:160]})
        print(f"{'BAD ' if fails else '    '}{name:<44}{seconds:>8.2f} s {times:>7.1f} x  {first[:90]}", file=sys.stderr)
    json.dump({"size": SIZE, "cases": rows, "bad": bad}, sys.stdout, indent=1)
    sys.exit(1 if bad else 0)


main()
