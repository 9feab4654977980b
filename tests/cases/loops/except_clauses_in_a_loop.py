"""Since 3.12 the code of except clauses is after everything else."""


def reap(children, wait):
    while len(children) >= children.limit:
        try:
            wait(children)
        except ChildProcessError:
            children.clear()
        except OSError:
            break
    children.done()


def unpack(data, make):
    results = []
    while data:
        try:
            results.append(make(data))
        except OSError:
            if results:
                break
            raise
        data = data.rest
    return results
