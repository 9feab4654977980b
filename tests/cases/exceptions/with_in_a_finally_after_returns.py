"""A `with` in the body of a `finally`, which each `return` has its own copy of."""
# reads otherwise: 3.9+


def one(self):
    try:
        if not self.running:
            return
        self.wait(300)
    finally:
        with self.lock:
            self.clear()


def out_of_a_with(self):
    try:
        with self.write_lock:
            if not self.running:
                return
            self.running = False
        self.wait(300)
    finally:
        with self.lock:
            self.clear()


def with_a_clause(self, items):
    try:
        if not self.running:
            return
        self.wait(300)
    except OSError:
        self.warn()
    finally:
        with self.lock:
            for item in items:
                if not item.cancel():
                    item.stop()


async def asynchronous(self):
    try:
        if not self.running:
            return
        await self.wait(300)
    finally:
        async with self.lock:
            self.clear()
