# reads otherwise: 3.10+
# since: 3.10
match left is not right:
    case None:
        pass
print(left)
