async def found(items, seen):
    async for item in items():
        seen.append(item[0])
        if item[0] == 20:
            break
    else:
        seen.append("none")
    seen.append("end")


async def only_break(items):
    async for item in items():
        break
    collect()


async def returned(items):
    async for item in items():
        if item:
            return item
