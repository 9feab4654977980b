for u in y:
    try:
        a
    finally:
        [0 for v in z]
        continue
