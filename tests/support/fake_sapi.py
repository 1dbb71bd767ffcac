"""A D-Wave service on 127.0.0.1: D-Wave's own client talks HTTP to it, and it can be told to fail.

It speaks version 3 of the service's protocol as far as dwave-cloud-client 0.14 uses it. Reads are
independent spins with P(s) ~ exp(-h s) (dimod's sign), the same for the same model: couplings are
received and ignored, for what is tested with it is how answers travel.
"""

import base64
import datetime
import json
import re
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from dwave.cloud.testing import mocks

TOKEN = "DEV-0123456789abcdef"
_MEDIA = "application/vnd.dwave.sapi.{}+json; version=3.0.0"
# A client waits for its last request when it closes.
_PATIENCE_SECONDS = 0.3
_TICK_SECONDS = 0.01


def zephyr_solver(m: int = 2, t: int = 4, **properties: Any) -> dict[str, Any]:
    """What the service says of a solver with a Zephyr chip."""
    solver: dict[str, Any] = mocks.qpu_zephyr_solver_data(m, t)
    known = ("annealing_time", "answer_mode", "auto_scale", "fast_anneal", "num_reads")
    solver["properties"]["parameters"].update(dict.fromkeys(known, ""))
    solver["properties"].update(
        fast_anneal_time_range=[0.005, 2000.0],
        problem_timing_data=mocks.qpu_problem_timing_data(),
        default_annealing_time=20.0,
        **properties,
    )
    return solver


@dataclass
class Fault:
    """What happens to the requests that match a pattern.

    Attributes:
        pattern: of "METHOD path?query".
        code: HTTP status of the reply; 0 to close the connection without one.
        times: how often.
        message: in the reply.
        accepts: whether a submission is taken up all the same.
    """

    pattern: str
    code: int
    times: float = float("inf")
    message: str = "injected"
    accepts: bool = False


@dataclass
class Job:
    """A problem at the service; held back ones are PENDING until released."""

    id: str
    number: int
    sent: dict[str, Any]
    status: str = "PENDING"
    message: str = ""
    times: dict[str, str] = field(default_factory=dict)


class FakeSapi(ThreadingHTTPServer):
    """The service. Each attribute can be changed while it runs.

    Attributes:
        token: the one that it takes.
        faults: of requests to come; the first that matches is used.
        outage_after: number of problems that come before nobody answers any more.
        held: numbers of the problems not to be answered; "all" for every one.
        failures: by number of the problem, the message it fails with.
        spoil: changes an answer, with its reads, before it is sent.
        jobs: by id, in the order in which they came.
        requests: "METHOD path?query" of each request so far.
    """

    daemon_threads = True

    def __init__(self, solver: dict[str, Any] | None = None, token: str = TOKEN) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.solver, self.token = solver or zephyr_solver(), token
        self.faults: list[Fault] = []
        self.outage_after: int | None = None
        self.held: set[int] | str = set()
        self.failures: dict[int, str] = {}
        self.spoil: Callable[[dict[str, Any]], None] = lambda answer: None
        self.jobs: dict[str, Job] = {}
        self.requests: list[str] = []
        self.lock = threading.Lock()
        self.running = True

    @property
    def url(self) -> str:
        """Its endpoint."""
        return f"http://127.0.0.1:{self.server_address[1]}/sapi/"

    def count(self, pattern: str) -> int:
        """How many requests have matched a pattern."""
        return sum(bool(re.search(pattern, request)) for request in list(self.requests))

    def handle_error(self, *_: Any) -> None:
        """Clients that hang up are no news."""

    # What it does with problems

    def fault(self, request: str) -> Fault | None:
        """The fault that a request meets."""
        if self.outage_after is not None and len(self.jobs) >= self.outage_after:
            return Fault(request, 0)
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and re.search(fault.pattern, request):
                    fault.times -= 1
                    return fault
        return None

    def take(self, sent: dict[str, Any]) -> Job:
        """A new job."""
        with self.lock:
            job = Job(str(uuid.uuid4()), len(self.jobs), sent, times={"submitted_on": _now()})
            self.jobs[job.id] = job
        return job

    def look(self, job: Job) -> dict[str, Any]:
        """The status of a job, after what may have happened to it meanwhile."""
        if job.status == "PENDING" and not (self.held == "all" or job.number in self.held):
            job.status = "FAILED" if job.number in self.failures else "COMPLETED"
            job.message = self.failures.get(job.number, "")
            job.times["solved_on"] = _now()
        status = {name: job.sent.get(name) for name in ("type", "solver", "label")}
        error = {"error_message": job.message} if job.message else {}
        return {"id": job.id, "status": job.status, **status, **job.times, **error}

    def answer(self, job: Job) -> dict[str, Any]:
        """The status of a job, and its reads where it has any."""
        status = self.look(job)
        if job.status == "COMPLETED":
            status["answer"] = self.reads(job.sent["data"], job.sent["params"])
            self.spoil(status["answer"])
        return status

    def reads(self, data: dict[str, str], params: dict[str, Any]) -> dict[str, Any]:
        """Reads of a model in the service's encoding."""
        qubits = np.array(self.solver["properties"]["qubits"])
        fields = np.frombuffer(base64.b64decode(data["lin"]))
        active = ~np.isnan(fields)
        rng = np.random.default_rng(zlib.crc32((data["lin"] + data["quad"]).encode()))
        up = 1 / (1 + np.exp(2 * fields[active]))
        bits = rng.random((params["num_reads"], active.sum())) < up
        energies = np.where(bits, 1.0, -1.0) @ fields[active]
        return {
            "format": "qp",
            "num_variables": self.solver["properties"]["num_qubits"],
            "active_variables": _text(qubits[active].astype("<i4")),
            "energies": _text(energies.astype("<f8")),
            "num_occurrences": _text(np.ones(len(bits), "<i4")),
            "solutions": _text(np.packbits(bits, axis=1)),
            "timing": {"qpu_access_time": 1234.0, "qpu_anneal_time_per_sample": 20.0},
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a reply waits 40 ms for the client
    server: FakeSapi

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.serve()

    def do_POST(self) -> None:
        self.serve()

    def serve(self) -> None:
        body = self.body()
        request = f"{self.command} {self.path}"
        self.server.requests.append(request)
        fault = self.server.fault(request)
        if fault:
            if fault.accepts:
                self.submit(body)
            self.fail(fault.code, fault.message)
        elif self.headers["X-Auth-Token"] != self.server.token:
            self.fail(401, "Invalid token or access denied")
        elif not self.knows(request):
            self.fail(404, "Problem does not exist")
        else:
            self.reply(*self.route(body))

    def knows(self, request: str) -> bool:
        """Whether the problem that a request loads is here."""
        loaded = re.search(r"GET .*/problems/([^/?]+)/", request)
        return loaded is None or loaded[1] in self.server.jobs

    def route(self, body: bytes) -> tuple[Any, str]:
        url = urlsplit(self.path)
        path = url.path.removeprefix("/sapi/")
        if path == "solvers/remote/":
            return [self.server.solver], "solver-definition-list"
        if path.startswith("solvers/remote/"):
            return self.server.solver, "solver-definition"
        if path == "problems/" and self.command == "POST":
            return self.submit(body), "problems"
        if path == "problems/":
            return self.poll(parse_qs(url.query)), "problems"
        return self.server.answer(self.server.jobs[path.split("/")[1]]), "problem"

    def submit(self, body: bytes) -> list[dict[str, Any]]:
        jobs = [self.server.take(sent) for sent in json.loads(body)]
        return [self.server.look(job) | {"status": "PENDING", "solved_on": None} for job in jobs]

    def poll(self, query: dict[str, list[str]]) -> list[dict[str, Any]]:
        """The statuses of some jobs, when one has changed or the time is over."""
        jobs = [self.server.jobs[name] for name in query["id"][0].split(",")]
        until = time.monotonic() + min(_PATIENCE_SECONDS, float(query["timeout"][0]))
        while True:
            statuses = [self.server.look(job) for job in jobs]
            changed = any(status["status"] != "PENDING" for status in statuses)
            if changed or time.monotonic() > until or not self.server.running:
                return statuses
            time.sleep(_TICK_SECONDS)

    def body(self) -> bytes:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return zlib.decompress(raw) if self.headers.get("Content-Encoding") == "deflate" else raw

    def reply(self, content: Any, kind: str, code: int = 200) -> None:
        raw = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", _MEDIA.format(kind))
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def fail(self, code: int, message: str) -> None:
        if code == 0:
            self.close_connection = True
        else:
            self.reply({"error_code": code, "error_msg": message}, "error", code)


@contextmanager
def running(server: FakeSapi) -> Iterator[FakeSapi]:
    """The server, serving."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.running = False
        server.shutdown()
        thread.join()
        server.server_close()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat()


def _text(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode()
