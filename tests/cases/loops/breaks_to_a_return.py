# reads otherwise: 3.10
def flush(queue):
    while True:
        item = queue.take()
        if item is None:
            break
        queue.send(item)
        if queue.is_full:
            break
        queue.rest()
    return queue


def drain(queue):
    while True:
        item = queue.take()
        if item == "stop":
            break
        elif item == "skip":
            queue.skip()
        elif item == "end":
            break
        else:
            queue.send(item)
    return queue.size


def first(queue):
    while True:
        item = queue.take()
        if item:
            return item
        queue.rest()
