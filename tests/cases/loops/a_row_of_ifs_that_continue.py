def sieve(numbers, found):
    for number in numbers:
        if number == 2:
            continue
        found(number)
        if number % 3 == 0 and number > 3:
            continue
        found(number)
        if not number:
            continue
        found(number)
        if number is None:
            continue
        try:
            found(number)
        except ValueError:
            continue
        if number in found:
            continue
        found(number)
        if number.a or number.b:
            continue
        found(number)
        if number == 7:
            continue
        found(number)
        if number == 8:
            continue
        found(number)
        if number == 9:
            found(number)
