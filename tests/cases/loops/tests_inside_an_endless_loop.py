# reads otherwise: 3.14+
def commands(stream):
    while True:
        if stream.ready:
            stream.read()
        elif stream.closed:
            stream.stop()
            raise EOFError
        else:
            raise OSError(stream)


def parts(stream, known):
    while True:
        line = stream.readline()
        if known.match(line):
            while True:
                line = stream.readline()
                if not known.match(line):
                    stream.unread(line)
                    break
            stream.push(known)
            for part in stream:
                stream.take(part)
            stream.pop()
        else:
            stream.take(line)


def tested(path, seen):
    while path not in seen:
        seen.add(path)
        try:
            path = path.read()
        except OSError as error:
            if error.errno in seen:
                raise
    return path


def first(classes):
    for c in classes:
        if 'a' in c.__dict__:
            return
        if 'b' in c.__dict__:
            c.a = 1
            return
        if 'c' in c.__dict__:
            c.a = 2
            return
