"""A small client of the Debug Adapter Protocol: what an editor does with debugpy, by script."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

_PATIENCE = 150.0


class Client:
    """Speak to a debug adapter over a socket; every call waits for its answer."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")
        self._sequence = 0
        self._events: List[Dict[str, Any]] = []

    def request(self, command: str, **arguments: Any) -> Dict[str, Any]:
        """Send a request and return the body of its answer; AssertionError when it is refused."""
        return self._answer(self._send(command, arguments), command)

    def attach(self, configure: Callable[[], None] = lambda: None) -> None:
        """Attach to the waiting program and let it go."""
        self.request("initialize", adapterID="test", pathFormat="path", linesStartAt1=True)
        # The adapter answers `attach` only once the configuration is done.
        attach = self._send("attach", {"justMyCode": False})
        self.event("initialized")
        configure()
        self.request("configurationDone")
        self._answer(attach, "attach")

    def event(self, name: str) -> Dict[str, Any]:
        """Wait for an event, and return its body."""
        while True:
            for number, event in enumerate(self._events):
                if event["event"] == name:
                    return self._events.pop(number).get("body") or {}
                assert event["event"] != "terminated", f"the program ended before {name!r}"
            self._events.append(self._read("event"))

    def breakpoints(self, file: Path, lines: Sequence[int]) -> List[int]:
        """Set the breakpoints of one file; return the lines that the debugger took."""
        body = self.request(
            "setBreakpoints",
            source={"path": str(file)},
            breakpoints=[{"line": line} for line in lines],
        )
        return [point["line"] for point in body["breakpoints"] if point["verified"]]

    def stopped(self) -> Tuple[int, List[Tuple[str, int, int]]]:
        """Wait for a stop; return the thread and its stack: file, line, frame's number."""
        thread = self.event("stopped")["threadId"]
        frames = self.request("stackTrace", threadId=thread)["stackFrames"]
        return thread, [
            ((frame.get("source") or {}).get("path", ""), frame["line"], frame["id"])
            for frame in frames
        ]

    def evaluate(self, expression: str, frame: int) -> str:
        """Evaluate an expression in a frame, as an editor's watch window does."""
        body = self.request("evaluate", expression=expression, frameId=frame, context="watch")
        return str(body["result"])

    def variables(self, frame: int) -> Dict[str, str]:
        """The locals of a frame, as an editor lists them."""
        scopes = self.request("scopes", frameId=frame)["scopes"]
        local = next(scope for scope in scopes if scope["name"] == "Locals")
        listed = self.request("variables", variablesReference=local["variablesReference"])
        return {entry["name"]: entry["value"] for entry in listed["variables"]}

    def _send(self, command: str, arguments: Dict[str, Any]) -> int:
        self._sequence += 1
        message = {"seq": self._sequence, "type": "request", "command": command}
        text = json.dumps({**message, "arguments": arguments}).encode()
        self._connection.sendall(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        return self._sequence

    def _answer(self, sequence: int, command: str) -> Dict[str, Any]:
        while True:
            answer = self._read("response")
            if answer["request_seq"] == sequence:
                assert answer["success"], f"{command}: {answer.get('message')}"
                return answer.get("body") or {}

    def _read(self, kind: str) -> Dict[str, Any]:
        while True:
            length = 0
            for line in iter(self._stream.readline, b"\r\n"):
                assert line, "the debugger closed the connection"
                key, _, value = line.decode().partition(":")
                length = int(value) if key.lower() == "content-length" else length
            message = json.loads(self._stream.read(length))
            if message["type"] == kind:
                return message
            if message["type"] == "event":
                self._events.append(message)


@contextlib.contextmanager
def debugged(command: Sequence[str], **options: Any) -> Iterator[Tuple[Client, "subprocess.Popen"]]:
    """Start a Python program under debugpy, and connect to it before its first line runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Inductor starts compilers, which would wait for an editor of their own.
    listen = ["-m", "debugpy", "--configure-subProcess", "False"]
    listen += ["--listen", f"127.0.0.1:{port}", "--wait-for-client"]
    process = subprocess.Popen([sys.executable, *listen, *command], **options)
    connection = None
    try:
        connection = _connect(port, process)
        yield Client(connection), process
    finally:
        if connection is not None:
            connection.close()
        if process.poll() is None:
            process.kill()
        process.wait()


def _connect(port: int, process: "subprocess.Popen") -> socket.socket:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=5)
            connection.settimeout(_PATIENCE)
            return connection
        except OSError:
            assert process.poll() is None, "debugpy ended before anybody connected"
            assert time.monotonic() < until, "debugpy does not answer"
            time.sleep(0.1)
