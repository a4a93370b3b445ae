"""Reads the pages of a folder with extruct and with pyRdfa, and prints what it cost as JSON.

usage: extract.py FOLDER PAGES

Processor time of this process, one thread. extruct reads all its syntaxes; pyRdfa reads RDFa alone.
"""

import io
import json
import logging
import pathlib
import sys
import time
import warnings

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

SYNTAXES = ["microdata", "opengraph", "json-ld", "microformat", "rdfa", "dublincore"]


def measure(name, pages, read):
    failed = 0
    start = time.process_time()
    for number, text in enumerate(pages):
        try:
            read(number, text)
        except Exception:
            failed += 1
    seconds = time.process_time() - start
    size = sum(len(text.encode()) for text in pages)
    return {
        "name": name,
        "pages": len(pages),
        "failed": failed,
        "pages_per_second": len(pages) / seconds,
        "megabytes_per_second": size / 1e6 / seconds,
    }


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    pages = [file.read_text() for file in sorted(folder.glob("*.html"))[:count]]
    rows = []

    import extruct

    def all_syntaxes(number, text):
        return extruct.extract(text, base_url=f"https://www.example.org/articles/{number}", syntaxes=SYNTAXES, errors="ignore")

    rows.append(measure(f"extruct {getattr(extruct, '__version__', '')}".strip(), pages, all_syntaxes))

    from pyRdfa import pyRdfa
    from pyRdfa.options import Options

    def rdfa(number, text):
        options = Options(embedded_rdf=False)
        processor = pyRdfa(options, base=f"https://www.example.org/articles/{number}", media_type="text/html")
        return processor.graph_from_source(io.StringIO(text), rdfOutput=False)

    rows.append(measure("pyRdfa", pages, rdfa))
    json.dump(rows, sys.stdout, indent=1)


main()
