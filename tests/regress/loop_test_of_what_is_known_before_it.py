# python: 3.13 3.14 3.15
# Up to 3.13 the test of a `while` is repeated at its end; later compilers jump back to it.
def path(pred, source, target):
    found = [target]
    while found[-1] != source:
        found.append(pred[found[-1]])
    return found


def migrate(self, unlimited):
    ran = None
    while ran is None or ran != 0:
        ran = self.run()
        if not unlimited:
            break
    return ran
