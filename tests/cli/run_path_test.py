"""Where the program and its libraries look for theirs: never in the working directory, whose files
may be anybody's, which is what an empty place in a run path is. Skipped (77) without readelf."""

import glob
import os
import re
import shutil
import subprocess
import sys

from program import PROGRAM, expect, finish

if shutil.which("readelf") is None:
    sys.exit(77)
files = [PROGRAM, *sorted(glob.glob(os.path.join(os.path.dirname(PROGRAM), "*.so")))]
expect(len(files) > 1, f"no library beside {PROGRAM}")
for file in files:
    said = subprocess.run(["readelf", "-d", file], capture_output=True, text=True,
                          check=True).stdout
    for path in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", said):
        odd = [part for part in path.split(":") if not part.startswith(("/", "$ORIGIN"))]
        expect(not odd, f"{file}: {path!r} has {odd}")
finish()
