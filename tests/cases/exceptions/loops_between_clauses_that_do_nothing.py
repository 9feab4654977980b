def waits(process):
    try:
        process.start()
    except OSError:
        pass
    while True:
        try:
            process.wait()
            break
        except KeyboardInterrupt:
            pass
    return process.state


def reads(lines):
    try:
        first = next(lines)
    except StopIteration:
        pass
    for line in lines:
        try:
            line.check(first)
        except ValueError:
            pass
    return lines
