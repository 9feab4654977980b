# reads otherwise: 3.10
def tokens(self, lexer):
    while True:
        token = lexer.get()
        if not token:
            return
        if token == 'a':
            continue
        while True:
            token = lexer.get()
            if token in {'', 'm'}:
                lexer.push(token)
                break
            if token == 'login':
                login = lexer.get()
            else:
                raise ValueError(token)
        self.check(login)
