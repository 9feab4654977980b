# since: 3.10
# Compilers copy the short end of a body to each of its cases, where it is no alternative.
def with_an_end_behind(x):
    match x:
        case a.b:
            pass
        case 0 if c:
            pass
    print(x)


async def with_an_end_of_the_function(x):
    match x:
        case 0:
            pass
        case 1 if c:
            pass
