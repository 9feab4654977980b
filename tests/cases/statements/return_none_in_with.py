# reads otherwise: 3.10
def take(lock, queue):
    with lock:
        if queue.is_closed:
            return None
        return min(queue)


async def wait(lock, queue):
    async with lock:
        while not queue:
            if queue.is_closed:
                return None
            await lock.wait()
        return min(queue)
