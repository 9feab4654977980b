def run(pending, check):
    try:
        while True:
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
