"""A script that `pellucid run` runs: it tells what it sees, and ends as its first argument says."""

import atexit
import pickle
import sys
import threading
import traceback

import torch


class Point:
    pass


def work(x):
    return x.sin() + 1


def main():
    print(__name__, sys.argv[1:], sys.path[0], pickle.loads(pickle.dumps(Point())).__class__)
    print(__file__, type(__loader__).__name__, __spec__ is None, __package__, sys.stdin.read())
    print("frames", [frame.name for frame in traceback.extract_stack()])
    print(torch.compile(work, backend="eager")(torch.zeros(2)).tolist())
    atexit.register(lambda: print("at exit", sys.modules["__main__"].Point is Point))
    thread = threading.Thread(target=lambda: print("thread", pickle.dumps(Point())[:1]))
    thread.start()
    how = sys.argv[1]
    if how == "raise":
        try:
            {}["missing"]
        except KeyError as error:
            raise ValueError("at the end") from error
    if how == "status":
        sys.exit(3)
    if how == "message":
        sys.exit("a last word")


if __name__ == "__main__":
    main()
