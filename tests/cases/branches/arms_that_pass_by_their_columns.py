"""A `pass` or `continue` in the first arm leaves its place in a jump, from 3.11 on."""
# reads otherwise: 3.8 3.9 3.10


def in_a_loop(self, keys):
    for key in keys:
        if self.handle(key):
            pass
        else:
            self.insert(key)


def before_an_elif(whence, offset, size):
    while size:
        size -= 1
        if whence == 0:
            pass
        elif whence == 1:
            offset += size
        else:
            raise ValueError(whence)
    return offset


def in_the_last_arm(self, keys):
    for key in keys:
        if self.handle(key):
            self.insert(key)
        else:
            pass


def that_continues(parts, path):
    for part in parts:
        if part == ".":
            continue
        else:
            path.append(part)


def that_was_not_there(self, keys):
    for key in keys:
        if not self.handle(key):
            self.insert(key)
        if not key:
            size = key
