"""Runs the stylesheets of a folder over the documents beside them with libxslt, and prints what it cost as JSON.

usage: transform.py FOLDER

In this process through lxml: parsed and transformed each time, the stylesheet compiled once; processor time. If the
command xsltproc is there, also as a process for each document; wall-clock time.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import time

from lxml import etree


def rate(work, count, clock):
    best = float("inf")
    for _ in range(5):
        start = clock()
        for _ in range(count):
            work()
        best = min(best, (clock() - start) / count)
    return 1 / best


def main():
    rows = []
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*.xml")):
        source = file.read_bytes()
        stylesheet = etree.XSLT(etree.parse(str(file.with_suffix(".xsl"))))
        count = max(3, min(100, 4_000_000 // len(source)))
        row = {
            "name": file.stem,
            "libxslt_in_process": rate(lambda: bytes(stylesheet(etree.fromstring(source))), count, time.process_time),
        }
        if shutil.which("xsltproc"):
            command = ["xsltproc", str(file.with_suffix(".xsl")), str(file)]
            row["xsltproc_per_document"] = rate(
                lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True), 3, time.perf_counter
            )
        rows.append(row)
    json.dump({"libxslt": ".".join(map(str, etree.LIBXSLT_VERSION)), "jobs": rows}, sys.stdout, indent=1)


main()
