"""Where the daemon listens: what was left behind is taken away, what is somebody else's is not."""

import asyncio
import socket
import stat

import pytest
from fastapi import FastAPI

from patrol.daemon.serving import HttpServer, ListenError, listen, listen_on_path
from patrol.settings.interface import parse_listen


def test_the_socket_is_for_its_group_and_one_that_a_dead_daemon_left_is_replaced(tmp_path):
    path = tmp_path / "api.sock"
    with listen_on_path(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        with pytest.raises(ListenError, match="another daemon"):
            listen_on_path(path)
    with listen_on_path(path):
        assert stat.S_ISSOCK(path.stat().st_mode)


def test_what_is_no_socket_stays(tmp_path):
    path = tmp_path / "api.sock"
    path.write_text("precious")
    with pytest.raises(ListenError, match="no socket"):
        listen_on_path(path)
    assert path.read_text() == "precious"


def test_an_address_that_is_taken_is_told_with_the_way_out():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ListenError, match=r"\[api\] listen"):
            listen(parse_listen(f"127.0.0.1:{port}"))


def test_a_name_with_several_addresses_is_listened_to_on_each():
    made = listen(parse_listen("localhost:0"))
    try:
        assert len({each.family for each in made}) == len(made) >= 1
    finally:
        for each in made:
            each.close()


def test_a_server_may_be_stopped_twice_and_before_it_started():
    async def life() -> None:
        server = HttpServer(FastAPI(), listen(parse_listen("127.0.0.1:0")))
        assert await server.stop(1)
        await server.start()
        assert await server.stop(10)
        assert await server.stop(10)

    asyncio.run(life())


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:0"])
def test_each_piece_of_an_answer_is_sent_at_once(address):
    async def life() -> bool:
        given: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            is_at_once = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            given.set_result(bool(is_at_once))
            writer.close()

        first, *others = listen(parse_listen(address))
        for each in others:
            each.close()
        async with await asyncio.start_server(connected, sock=first):
            _reader, writer = await asyncio.open_connection(*first.getsockname()[:2])
            writer.close()
            return await asyncio.wait_for(given, 5)

    assert asyncio.run(life())
