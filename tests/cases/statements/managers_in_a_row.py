"""Managers that stand below one another are those of one `with`, in another one or not."""
# since: 3.9
# reads otherwise: 3.9 3.10


def two_in_one(a, b):
    with a.client() as client:
        with (
            b.progress(a) as progress,
            client.errors(progress, b),
        ):
            d = client.get()
    return d


def three(a, b):
    with (
        a.client() as client,
        b.progress(a) as progress,
        client.errors(progress, b),
    ):
        d = client.get()
    return d
