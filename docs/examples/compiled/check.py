import sys

import pellucid
from pellucid.findings import find
from pellucid.torch.model.events import Frame

capture = pellucid.load(sys.argv[1])
print(sorted({frame.place.function for frame in capture.of(Frame)}))
print([finding.id for finding in find(capture)])
