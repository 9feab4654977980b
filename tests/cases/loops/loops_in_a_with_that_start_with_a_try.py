"""Each way back to a loop that starts with `try` stays inside of the `with` around the loop."""
# reads otherwise: 3.14

def to_the_end(self, queue):
    with self.lock:
        self.broken = 'x'
        while True:
            try:
                item = self.work.get_nowait()
            except queue.Empty:
                break
            if item is not None:
                item.set(self.broken)


def with_code_behind(self, cancel, wait, queue):
    with self.lock:
        self.shutdown = True
        if cancel:
            while True:
                try:
                    item = self.work.get_nowait()
                except queue.Empty:
                    break
                if item is not None:
                    item.cancel()
        self.work.put(None)
    if wait:
        for each in self.threads:
            each.join()


def in_a_try(self, f):
    try:
        while True:
            try:
                f(1)
            except ValueError:
                f(2)
            if not self.stopped:
                f(3)
    finally:
        f(4)
