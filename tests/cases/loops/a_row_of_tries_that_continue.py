def first_that_fits(candidates):
    for candidate in candidates:
        try:
            number = int(candidate)
        except ValueError:
            continue
        try:
            check(number)
        except (TypeError, KeyError):
            report(candidate)
            continue
        try:
            store(number)
        except OSError:
            continue
        print(number)


def one_after_the_other(queue):
    while queue:
        try:
            item = queue.pop()
        except KeyError:
            continue
        print(item)
        try:
            item.run()
        except ValueError:
            continue
        if item.last:
            return item
        print('again')
