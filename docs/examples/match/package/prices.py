"""Prices with tax."""


def total(prices, rate=0.19):
    return round(sum(prices) * (1 + rate), 2)
