# reads otherwise: 3.8 3.9 3.10
"""An assignment to several names starts where its first name or bracket does."""


def unpacks_in_an_else(text):
    parts = text.split("-", 1)
    if len(parts) == 1:
        return text
    else:
        first, second = parts
    return second + first


def unpacks_after_it(text):
    parts = text.split("-", 1)
    if len(parts) == 1:
        return text
    first, second = parts
    return second + first


def swaps_in_an_else(first, second):
    if first > second:
        return first
    else:
        first, second = second, first
    print(first)
    return second


def swaps_after_it(first, second):
    if first > second:
        return first
    first, second = second, first
    print(first)
    return second


def swaps_what_calls_return(first, second, make):
    if first is second:
        return first
    if (
        first is not None
        and second is not None
    ):
        third, fourth = (
            make(first),
            make(second),
        )
        print(third)
        if fourth:
            return 1
    return first


def unpacks_into_brackets_after_it(first, make):
    if not first:
        return None

    (
        one,
        two,
        three,
    ) = make(first)

    if not one:
        return two
    return three


def unpacks_more_in_a_loop(nodes):
    for node in nodes:
        place = node.place
        if place is not None:
            x, y = place.split(",")
            node.put(float(x), float(y))
    return nodes


def returns_a_value_in_brackets(self):
    if not self.code:
        return ""
    else:
        return (
            f"(Background on this {self.name} at: "
            f"https://{self.host}/e/{self.code})"
        )
