# since: 3.10
# Compilers store in another order what stands on one line with what is dropped.
def on_one_line(value):
    match value:
        case [a, _, b]:
            return a, b
        case {'a': _, 'b': a, **rest}:
            return a, rest
        case [b, a] | [a, _, b, _] | [1, b, _, _, a]:
            return a, b


def on_several(value):
    match value:
        case [
            a,
            _,
            b,
        ]:
            return a, b
        case {'a': a,
                'b': _}:
            return a
        case Point(x=a, y=_,
                z=[1, b, *_]):
            return a, b


def alternatives_on_several(value):
    match value:
        case [a, [b, c, 9] |
                [c, b, 10] |
                [-1, b, _, c], d]:
            return a, b, c, d
        case ([1, a, _] |
                [2, _, a] |
                [
                    3, _,
                    a,
                ]):
            return a


def of_which_one_is_long(first_value_of_a_number, second_value_of_a_number):
    match first_value_of_a_number, second_value_of_a_number:
        case [first_part_of_a_value, second_part_of_a_value, _, third_part_of_a_value, fourth_part_of_it]:
            return first_part_of_a_value
