# reads otherwise: 3.10 3.11 3.12 3.13 3.14
# since: 3.10
match left is not right:
    case None:
        pass
print(left)
