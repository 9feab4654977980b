"""`return` or `break` out of the last loop of a function: the same way, another place."""
# reads otherwise: 3.8 3.9 3.10


def returns_out_of_a_with(sock, file):
    with sock:
        while True:
            chunk = sock.recv()
            if not chunk:
                return
            file.write(chunk)


def returns_after_a_call(queue):
    try:
        while True:
            if queue.get():
                queue.put(None)
                return
            queue.wait()
    finally:
        queue.close()


def breaks_past_an_else(names, wanted):
    for name in names:
        if name == wanted:
            break
    else:
        raise KeyError(wanted)
