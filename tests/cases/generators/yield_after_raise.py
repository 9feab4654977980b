class Source:
    def lines(self):
        raise NotImplementedError
        yield

    async def parts(self):
        """Yield parts."""
        raise NotImplementedError("parts")
        yield
