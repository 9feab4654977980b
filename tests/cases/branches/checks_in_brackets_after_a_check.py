# The compiler itself drops a `not` before `is`.
def check(job, name, types):
    if not name:
        raise ValueError("name")
    if not isinstance(name, str):
        raise TypeError("name")
    if not (types is None or isinstance(types, list)):
        raise TypeError("types")
    if not (job is None or callable(getattr(job, "get", None))):
        raise TypeError("job")
    return name
