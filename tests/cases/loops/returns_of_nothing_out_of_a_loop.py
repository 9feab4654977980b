def stride(items, negative, size):
    step = None
    for offset, count in items:
        if count != 1:
            if negative:
                return None
            if step is None:
                step = size
            if step != size:
                return None
            end = offset + (count - 1) * size
        else:
            end = offset
        if step != end:
            return None
    return step
