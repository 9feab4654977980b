"""All compiled code that runs is in the dump: Python's profiler is asked."""

import random
import subprocess
from pathlib import Path

import pytest
from check_ran import check
from needs import need
from ran_programs import every_program
from support import run_env, warm_python

CHECK = Path(__file__).with_name("agreement") / "check_ran.py"
WHOLE = {
    "programs": lambda: ["--backend", "aot_eager"],
    "cases": lambda: ["--backend", "eager", "--cases", need("shared") / "torch" / "cases.py"],
    "doors": lambda: ["--scripts", need("shared") / "torch" / "doors"],
}


@pytest.mark.filterwarnings("ignore")
def test_all_that_runs_of_a_sample_of_programs_is_in_the_dump(dynamo, capsys):
    programs = random.Random(40).sample(list(every_program()), 30)
    outcomes = check(programs, "eager", limit=0)
    assert [missing for outcome in outcomes for missing in outcome.missing] == []
    assert sum(outcome.graphs for outcome in outcomes) >= 20


@pytest.mark.thorough
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("programs", WHOLE)
def test_all_that_runs_of_every_program_is_in_the_dump(programs, torch, record_property):
    command = [warm_python(), CHECK, *WHOLE[programs]()]
    done = subprocess.run(command, capture_output=True, text=True, env=run_env(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    record_property("that is all", done.stdout.splitlines()[-1])
