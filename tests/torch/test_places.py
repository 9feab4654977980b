"""The lines and names that a capture gives: of the call, and of what a function wraps."""

import functools

import pellucid
from pellucid.dump.model.events import Frame, Started
from pellucid.findings.counts import versions_of


def checked(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def models(torch):
    class Encoder(torch.nn.Module):
        @checked
        def forward(self, x):
            return x.sin() + 1

    class Decoder(torch.nn.Module):
        @checked
        def forward(self, x):
            return x.cos() + 2

    return Encoder(), Decoder()


def test_the_caller_of_a_frame_is_the_line_of_the_call(dynamo, torch, tmp_path):
    compiled = torch.compile(lambda x: x + 1, backend="eager")

    def calls():
        compiled(torch.ones(2))

    def calls_that():
        calls()

    with pellucid.prepare_debug(tmp_path) as session:
        calls_that()
    (start,) = session.of(Started)
    code = calls.__code__
    called = start.stack[-2]
    assert (called.function, called.line) == ("calls", code.co_firstlineno + 1)
    assert start.stack[-3].function == "calls_that"
    assert start.stack[-1] == start.place


def test_a_wrapped_function_goes_by_what_it_wraps(dynamo, torch, tmp_path):
    encoder, decoder = models(torch)
    with pellucid.prepare_debug(tmp_path) as session:
        for model in (encoder, decoder):
            torch.compile(model, backend="eager")(torch.ones(4))
    frames = session.of(Frame)
    assert [f.place.function for f in frames] == ["Encoder.forward", "Decoder.forward"]
    assert {frame.wrapper for frame in frames} == {"wrapper"}
    assert (tmp_path / "__transformed_code_0_0_for_Encoder_forward.py").exists()
    names = [name for _, _, name in versions_of([session.snapshot()])]
    assert names == ["Encoder.forward, inside wrapper", "Decoder.forward, inside wrapper"]
    (found,) = [finding for finding in session.findings if finding.kind == "recompile"]
    assert "`Encoder.forward` and `Decoder.forward` run the code of one wrapper" in found.cause
    assert "recompile_limit" in found.cause and found.remedy.startswith("no change needed")
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "## `wrapper`" in index


def test_what_resumes_in_a_wrapped_function_goes_by_it_too(dynamo, torch, tmp_path):
    @checked
    def step(x):
        return x + 1

    @functools.wraps(step)
    def broken(x):
        y = step(x)
        print(end="")
        return step(y)

    with pellucid.prepare_debug(tmp_path) as session:
        torch.compile(broken, backend="eager")(torch.ones(4))
    names = [frame.place.function for frame in session.of(Frame)]
    assert names[0].endswith("step")
    assert (
        all(name.startswith("torch_dynamo_resume_in_step_at_") for name in names[1:]) and names[1:]
    )
    assert len(versions_of([session.snapshot()])) == 1
