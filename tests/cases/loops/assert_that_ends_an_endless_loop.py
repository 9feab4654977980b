def run(pending, check):
    try:
        while True:
            pending = more(pending)
            if not pending:
                break
            f = pending.pop()
            try:
                f()
            except Exception:
                report()
            assert f not in check
    finally:
        close()
