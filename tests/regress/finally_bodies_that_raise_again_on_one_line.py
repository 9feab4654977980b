def close(self, c):
    try:
        a()
    finally:
        try:
            if c:
                b()
        finally:
            self.x = None
            self.y = None
