def pay(hours):
    rate: float = 31.5
    "The hours of one week, and no more."
    if hours > 24 * 7:
        raise ValueError(hours)
    return hours * rate
