"""Loads a file of N-Quads into a Virtuoso database of its own, with its bulk loader, and checks that it arrived.

    python virtuoso_load.py FILE DIRECTORY QUADS

Debian's virtuoso-t and isql-vt are started in DIRECTORY on a port of loopback, and ended. Prints the CPU-seconds of the server from
the first quad to the checkpoint, as JSON: making an empty database is not counted.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

SETTINGS = """\
[Database]
DatabaseFile = {folder}/virtuoso.db
ErrorLogFile = {folder}/virtuoso.log
LockFile = {folder}/virtuoso.lck
TransactionFile = {folder}/virtuoso.trx
xa_persistent_file = {folder}/virtuoso.pxa
[TempDatabase]
DatabaseFile = {folder}/temporary.db
TransactionFile = {folder}/temporary.trx
[Parameters]
ServerPort = {port}
DirsAllowed = {file_folder}
NumberOfBuffers = 170000
MaxDirtyBuffers = 130000
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    file, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    settings = folder / "virtuoso.ini"
    settings.write_text(SETTINGS.format(folder=folder, port=f"127.0.0.1:{port}", file_folder=file.parent))
    server = subprocess.Popen(
        ["virtuoso-t", "+foreground", "+configfile", str(settings), "+wait"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def ask(statement):
        return subprocess.run(
            ["isql-vt", f"127.0.0.1:{port}", "dba", "dba", "BANNER=OFF", "VERBOSE=OFF", f"EXEC={statement}"],
            capture_output=True,
            text=True,
        )

    try:
        deadline = time.monotonic() + 60
        while ask("SELECT 1").returncode != 0:
            if server.poll() is not None or time.monotonic() > deadline:
                sys.exit("virtuoso does not start")
            time.sleep(0.2)
        before = cpu_seconds(server)
        loaded = ask(f"ld_dir('{file.parent}', '{file.name}', 'urn:none'); rdf_loader_run(); checkpoint;")
        spent = cpu_seconds(server) - before
        counted = ask("SPARQL SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }")
        numbers = [int(word) for word in counted.stdout.split() if word.isdigit()]
        # Its own graphs are among them; what is missing would be more than those.
        if not numbers or max(numbers) < int(sys.argv[3]) * 0.97:
            sys.exit(f"virtuoso has {numbers} quads: {loaded.stderr} {loaded.stdout}")
        ask("shutdown;")
        server.wait(60)
        print(json.dumps({"cpu_seconds": round(spent, 2)}))
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


main()
