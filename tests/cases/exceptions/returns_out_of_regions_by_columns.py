# reads otherwise: 3.8 3.9 3.10
def guard_before_a_finally(job, peer):
    try:
        fd = job.open()
        if (now := job.state) != peer.state or now.last != peer.last:
            return
        started = True
        if not job.exchange(fd):
            started = False
            return
        job.mark(fd)
    finally:
        if peer and job.pending:
            job.abandon(started)


def guard_alone_before_a_finally(job):
    try:
        if job.closed:
            return
        job.connect()
    finally:
        job.warn()


def guard_in_a_with_of_two(job, peer):
    state = job.state()
    with job.lock() as held, suppress(OSError):
        if not held.same(state):
            return
        held.apply(peer)
        if held.same(peer):
            job.mark(state)


def constant_out_of_a_with(names, held):
    for name in names:
        if name.fits:
            with suppress(OSError):
                if name.same(held):
                    return True
    return False


def none_after_a_loop_in_a_with(job):
    if job.early:
        job.last = None
    with job.connect() as connection:
        for row in connection.rows():
            return job.build(row)
        return None


def constant_after_a_with(job):
    try:
        now = job.now()
        with job.connect() as connection:
            for row in connection.rows(now):
                connection.drop(row)
                return True
        return False
    except ValueError as error:
        job.warn(error)
        return False


def return_after_a_chain_in_a_with(job, held):
    with job.lock:
        if (pending := job.state) is None:
            if held:
                job.release()
            elif job.registry is not None:
                job.finish()
            return
    if not job.done or pending.done():
        job.observe(pending, None)


def none_after_a_try(store, name):
    try:
        column = store.column
        if callable(column):
            value = column()
            if value is not None:
                return value
            client = store.client
            if callable(client):
                return client(name)
    except ValueError:
        return None
    return None


def none_in_a_clause_beside_a_finally(job):
    try:
        with job.open():
            return job.size
    except (OSError, ValueError):
        return None
    finally:
        with suppress(OSError):
            job.close()


def none_in_a_named_clause_in_a_with(job):
    with job.lock:
        if job.model is None:
            try:
                job.model = load()
            except ImportError as error:
                job.warn(error)
                return None
    return job.model


def try_in_a_try(job):
    try:
        try:
            job.path
            return True
        except ValueError:
            return False
    finally:
        for name in job.cache:
            job.set(name)


def generator_in_a_try_in_a_try(job):
    try:
        try:
            fd = job.open()
        except FileNotFoundError:
            raise
        except OSError:
            yield None
            return
        yield fd.number
    finally:
        job.close()


def return_in_an_else_in_a_loop(queue):
    while True:
        try:
            queue.put()
            if queue.ready:
                queue.delivered = True
        except ValueError:
            queue.dropped += 1
            warns = queue.dropped == 1
        else:
            return
        if warns:
            queue.warn()
        queue.wait()


def try_after_a_try(path):
    try:
        fd = open(path)
    except FileNotFoundError as error:
        raise KeyError(path) from error
    except OSError as error:
        reason = str(error)
        raise ValueError(reason) from error
    try:
        return read(fd, path)
    finally:
        with suppress(OSError):
            close(fd)


def break_in_an_else(pending):
    while True:
        wait = pending.wait
        try:
            result = pending.result(wait)
        except TimeoutError:
            if pending.limit is not None and pending.now() >= pending.limit:
                raise ValueError(pending) from None
        else:
            break
    pending.forget()
    return result


def return_in_an_else_in_a_with(queue):
    with queue.lock:
        if queue.closed:
            return
        try:
            queue.put()
            if queue.ready:
                queue.delivered = True
        except ValueError:
            queue.dropped += 1
            warns = queue.dropped == 1
        else:
            return
    if warns:
        queue.warn()
