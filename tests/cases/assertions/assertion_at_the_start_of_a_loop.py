"""A loop that starts with an assertion is not a loop with that test."""
# reads otherwise: 3.8


def search(node, use):
    while True:
        assert not node.done
        for each in node:
            if each:
                use(each)
            else:
                return each
        assert node.next, node
        node = node.next
