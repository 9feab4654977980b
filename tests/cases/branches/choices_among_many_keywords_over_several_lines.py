# fmt: off
def context(kernel, parent):
    return Context(
        kernel=kernel, streams=kernel.streams, mode=kernel.mode,
        cache=Cache(
            policy=(
                parent.policy
                if parent is not None
                else policy(kernel, 3)
            ),
        ),
        runner=(
            parent.runner
            if parent is not None
            else Runner()
        ),
        a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9, j=10, k=11, l=12, m=[],
    )
