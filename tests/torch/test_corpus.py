"""Frames that Dynamo makes of many small functions: all proven, swapped in, and right.

Run the whole corpus by hand with
`python ../shared/torch/corpus.py --decompiler pellucid.torch.adapter:roundtrip --out x.jsonl`.
"""

import json
import subprocess

import pytest
from needs import need
from support import run_env, warm_python


@pytest.mark.slow
@pytest.mark.parametrize("style", ["b_", "c_", "w_"])
def test_every_frame_is_proven_and_right(style, torch, tmp_path):
    corpus = need("shared") / "torch" / "corpus.py"
    out = tmp_path / "out.jsonl"
    command = [warm_python(), str(corpus), "--decompiler", "pellucid.torch.adapter:roundtrip"]
    subprocess.run(
        [*command, "--only", style, "--out", str(out)],
        cwd=tmp_path,
        env=run_env(),
        check=True,
        timeout=550,
        stdout=subprocess.DEVNULL,
    )
    cases = [json.loads(line) for line in out.read_text().splitlines()]
    cases = [case for case in cases if case.get("dynamo_ok") and case.get("n_frames")]
    assert len(cases) >= 5
    frames = [frame for case in cases for frame in case["frames"]]
    assert [frame["error"] for frame in frames if frame["status"] != "ok"] == []
    assert [case["case"] for case in cases if not case["rt_ok"]] == []
