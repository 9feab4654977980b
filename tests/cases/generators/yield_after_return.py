class Stream:
    async def before(self):
        """Yield what comes first: nothing."""
        return
        yield

    def after(self, error):
        if error is None:
            self.done()
        return
        yield
