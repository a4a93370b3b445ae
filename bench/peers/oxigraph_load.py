"""Loads a file of N-Quads or N-Triples into an Oxigraph store on disk, with its bulk loader.

    python oxigraph_load.py FILE DIRECTORY
"""

import sys

from pyoxigraph import RdfFormat, Store

file, directory = sys.argv[1:]
store = Store(directory)
store.bulk_load(path=file, format=RdfFormat.N_QUADS if file.endswith(".nq") else RdfFormat.N_TRIPLES)
store.flush()
