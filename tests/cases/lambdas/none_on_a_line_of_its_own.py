"""Up to 3.10 each arm of a choice returns on its own line."""

visit(
    lambda node: found.append(node)
    if node.is_tensor() or isinstance(node, Symbol)
    else None,
    body,
)
nothing_first = (lambda node: None
                 if node.a or
                 node.b
                 else node.c)
nested = (lambda node: 1 if node.a else 2
          if node.b or
          node.c else
          None)
