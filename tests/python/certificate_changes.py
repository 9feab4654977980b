"""Changes code objects, and says which of them the checker of certificates accepts.

    python3.N certificate_changes.py SEED TRIES

The changes are those of fuzz/adversary. A changed module is held against its own text: it is
refused, or it behaves as the text does. Prints counts as JSON, and what was accepted falsely.
"""

import collections
import dis
import json
import marshal
import random
import sys
import warnings
from pathlib import Path
from typing import Any, Counter, Dict, List

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "fuzz" / "adversary"), str(ROOT / "tools" / "check_certificate")]

import child  # noqa: E402
import effects  # noqa: E402
from walk import check  # noqa: E402

BATCH = 16
child._SECONDS = 1


def stack_effects() -> List[str]:
    """Return where the checker's table of instructions is at odds with `dis`."""
    wrong = []
    for name, op in dis.opmap.items():
        for arg in (2, 3) if op >= dis.HAVE_ARGUMENT else (0,):
            shape = effects.shape_of(name, arg)
            # In 3.12 `dis` counts what is sent into the generator as there.
            if shape is None or name == "RETURN_GENERATOR":
                continue
            given = arg if op >= dis.HAVE_ARGUMENT else None
            if dis.stack_effect(op, given) != len(shape[2]) - shape[0]:
                wrong.append(f"{name} {arg}")
    return wrong


def main(seed: int, tries: int) -> Dict[str, Any]:
    """Make tries and return what came of them."""
    programs = child.programs()
    counts: Counter[str] = collections.Counter()
    false: List[str] = []

    def judged(number: int) -> Any:
        one = child.made(seed, child.KNOWN, programs, number)
        if one is None:
            return None
        text = compile(programs[one[2]].text, "text", "exec", dont_inherit=True)
        # What a certificate says must not matter, so it says anything every other time.
        rng = random.Random(number)
        places = [(rng.randrange(0, 200, 2), rng.randrange(0, 200, 2)) for _ in range(40)]
        said = {"<module>/f": places} if number % 2 else {}
        return one, not check(marshal.loads(one[1]), text, said)[1]

    for first in range(0, tries, BATCH):
        numbers = range(first, min(first + BATCH, tries))
        found = [one for one in child.each(judged, numbers) if one is not None]
        for (number, data, name, changed), accepted in found:
            program = programs[name]
            does, differs = child.compared(data, program, [program.text])
            kind = "died" if does.startswith("died") else "same"
            if any(differs):
                kind = "different"
            counts[kind] += 1
            if accepted:
                counts[f"accepted {kind}"] += 1
                if kind != "same":
                    false.append(f"{seed}:{number} {name}: {changed}")
    return {**counts, "false": false, "tables": stack_effects()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
