"""Processes of every kind that compile, none of which knows of pellucid; run by test_processes.py.

Each compiles a function of its own, named and numbered as in job.py.  `python launched.py` starts
the others: workers of a DataLoader, two that serve and are ended by a signal, two that are forked
by hand, one after the other, and a program.
"""

import http.server
import multiprocessing
import os
import subprocess
import sys
import traceback
import urllib.request

from job import compute
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Compiled(Dataset):
    """What a worker has to offer it computes compiled; the first worker only."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        if get_worker_info().id == 0:
            compute(1)
        return index


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers with the number that its server was given, compiled."""

    def do_GET(self):
        compute(self.server.worker)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(worker, ports):
    server = http.server.HTTPServer(("127.0.0.1", 0), Answers)
    server.worker = worker
    ports.put(server.server_address[1])
    server.serve_forever()


def served():
    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    servers = [context.Process(target=serve, args=(worker, ports)) for worker in (2, 3)]
    for server in servers:
        server.start()
    for port in [ports.get(timeout=300) for _ in servers]:
        assert urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=300).status == 200
    for server in servers:
        server.terminate()
        server.join()
    assert [server.exitcode for server in servers] == [-15, -15]


def forked(worker):
    child = os.fork()
    if not child:
        status = 1
        try:
            compute(worker)
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def main():
    forked(4)  # before anything is compiled here
    compute(9)
    assert sorted(DataLoader(Compiled(), num_workers=2, batch_size=None)) == [0, 1]
    served()
    forked(5)
    subprocess.run([sys.executable, __file__, "6"], check=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        compute(int(sys.argv[1]))
    else:
        main()
