"""Reads the answers of a WARC file with warcio and with FastWARC, and prints what it cost as JSON.

usage: warc.py FILE [ROUNDS]

One thread, processor time, the best round of each counts. "iterate" looks at every answer's HTTP head and passes its payload; "payloads"
reads it too, as it is archived.
"""

import json
import sys
import time

from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from warcio.archiveiterator import ArchiveIterator


def with_fastwarc(path, read):
    answers = length = 0
    for record in FastIterator(path, record_types=WarcRecordType.response, parse_http=True):
        assert record.http_headers is not None
        answers += 1
        if read:
            length += len(record.reader.read())
    return answers, length


def with_warcio(path, read):
    answers = length = 0
    with open(path, "rb") as stream:
        for record in ArchiveIterator(stream):
            if record.rec_type == "response":
                assert record.http_headers is not None
                answers += 1
                if read:
                    length += len(record.raw_stream.read())
    return answers, length


def measure(work, path, rounds):
    row = {}
    for name, read in (("iterate", False), ("payloads", True)):
        best = float("inf")
        for _ in range(rounds):
            start = time.process_time()
            answers, length = work(path, read)
            best = min(best, time.process_time() - start)
        row[f"{name}_answers_per_second"] = answers / best
        if read:
            row["payload_bytes"] = length
            row["payloads_unpacked_megabytes_per_second"] = length / 1e6 / best
    return row


def main():
    path = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    result = {"fastwarc": measure(with_fastwarc, path, rounds), "warcio": measure(with_warcio, path, rounds)}
    json.dump(result, sys.stdout, indent=1)


main()
