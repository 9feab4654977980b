import sys

import pellucid

PARTS = (
    "entire_frame_compile_time",
    "backend_compile_time",
    "inductor_compile_time",
    "code_gen_time",
)

for times in pellucid.load(sys.argv[1]).times:
    print(f"[{times.key}]", "backward" if times.backward else "forward")
    for part in PARTS:
        if part in times.seconds:
            print(f"{times.seconds[part]:8.2f}  {part}")
