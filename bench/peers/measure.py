"""Runs a command and prints what it cost, as JSON: seconds, CPU-seconds of all its threads, largest resident set.

    python measure.py COMMAND [ARGUMENT...]
"""

import json
import os
import sys
import time

start = time.monotonic()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
seconds = time.monotonic() - start
if status != 0 and not os.environ.get("WEBLOOM_MEASURE_ANY_STATUS"):
    sys.exit(f"{sys.argv[1]} failed with status {status}")
print(
    json.dumps(
        {
            "seconds": round(seconds, 2),
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
            "max_rss_bytes": usage.ru_maxrss * 1024,
        }
    )
)
