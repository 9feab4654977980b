def best(scores, *, floor=0.0):
    """Return the name with the highest score above a floor."""
    found = None
    for name, score in scores.items():
        if score <= floor or name.startswith("_"):
            continue
        if found is None or score > scores[found]:
            found = name
    if found is None:
        raise LookupError(f"no score above {floor!r}")
    return found
