"""Proxies between a server and whoever follows it: a real one, and one that holds everything back."""

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")

# All as it comes, but for places that a test may write to. Buffering is on where nothing else is said.
_NGINX = """\
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; events {{ }}
http {{
  access_log off; proxy_buffering on;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen unix:{folder}/front.sock; location / {{ proxy_pass http://127.0.0.1:{port}; }} }}
}}
"""


@contextmanager
def nginx(folder: Path, port: int) -> Iterator[str]:
    """The path of its socket, before a server on this port."""
    assert NGINX is not None
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port))
    command = [NGINX, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    with subprocess.Popen(command) as process:
        try:
            until = time.monotonic() + 20
            while not (folder / "front.sock").exists():
                assert process.poll() is None, (folder / "error.log").read_text()
                assert time.monotonic() < until
                time.sleep(0.02)
            yield str(folder / "front.sock")
        finally:
            process.terminate()
            process.wait(timeout=20)


@contextmanager
def holding(port: int, hold: int) -> Iterator[int]:
    """The port of a proxy that knows nothing of HTTP: passes answers on in lumps of so many bytes, or at their end."""
    threads: list[threading.Thread] = []

    def take() -> None:
        with suppress(OSError):  # the front is shut at the end of the test
            while True:
                threads.append(threading.Thread(target=_between, args=(front.accept()[0], port, hold)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as front:
        taking = threading.Thread(target=take)
        taking.start()
        yield front.getsockname()[1]
        front.shutdown(socket.SHUT_RDWR)
        for each in (taking, *threads):
            each.join()


def _between(caller: socket.socket, port: int, hold: int) -> None:
    with caller, socket.create_connection(("127.0.0.1", port)) as server:
        asking = threading.Thread(target=_pass_on, args=(caller, server, 0))
        asking.start()
        _pass_on(server, caller, hold)
        with suppress(OSError):  # it is gone already
            caller.shutdown(socket.SHUT_RDWR)
        asking.join()


def _pass_on(source: socket.socket, target: socket.socket, hold: int) -> None:
    held = b""
    with suppress(OSError):  # either of them hangs up
        while piece := source.recv(65_536):
            held += piece
            if len(held) >= hold:
                target.sendall(held)
                held = b""
        target.sendall(held)
        target.shutdown(socket.SHUT_WR)
