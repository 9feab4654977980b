# reads otherwise: 3.9
def wait(self, timeout):
    if self.done is not None:
        return self.done
    if timeout is not None:
        while True:
            if self.lock.acquire(False):
                try:
                    if self.done is not None:
                        break
                    if self.poll(0):
                        break
                finally:
                    self.lock.release()
            sleep(timeout)
    else:
        while self.done is None:
            with self.lock:
                if self.done is not None:
                    break
                self.poll(1)
    return self.done
