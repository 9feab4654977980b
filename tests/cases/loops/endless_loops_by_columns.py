# Before 3.11, by jumps and lines.
"""What is written after an endless loop, or as its first test, stands in its column."""


def returns_a_local_after_the_loop(heap, stale):
    while True:
        first = heap[0]
        if first in stale:
            break
        heap.pop()
    return first


def returns_two_locals(heap, stale):
    while True:
        first, _, key = heap[0]
        if key not in stale:
            break
        heap.pop()
    return key, first


def returns_in_the_loop(heap, stale):
    while True:
        first = heap[0]
        if first in stale:
            return first
        heap.pop()


def has_a_test_and_a_break(queue, parents):
    while queue:
        if queue[0] in parents:
            break
        last = queue.pop()
        parents.append(last)
    return parents


def has_a_test_and_a_break_later(limit, found, find):
    count = 0
    while count < limit:
        before, after, same = find()
        if after is None:
            break
        found.append(same)
        count += before
    return count


def has_a_test_inside(source):
    while True:
        if source.is_empty():
            break
        source.take()
    source.close()


def has_its_test_in_brackets(source):
    while (line := source()):
        print(line)


def has_its_test_in_more_brackets(source):
    while (
        not source.is_empty()
        and source.is_open
    ):
        source.take()
    source.close()
