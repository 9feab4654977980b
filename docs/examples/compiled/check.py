import sys

import pellucid
from pellucid import Frame

capture = pellucid.load(sys.argv[1])
print(sorted({frame.place.function for frame in capture.of(Frame)}))
print([finding.id for finding in pellucid.find(capture)])
