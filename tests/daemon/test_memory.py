"""What the daemon tells the C library about memory."""

import gc

from patrol.daemon.memory import give_back_early, leave_alone


def test_one_heap_and_little_kept_on_top_of_it():
    told: dict[int, int] = {}

    def mallopt(name: int, value: int) -> int:
        told[name] = value
        return 1

    assert give_back_early(mallopt)
    assert told == {-8: 1, -1: 128 * 1024}


def test_a_library_that_refuses_is_no_error():
    assert not give_back_early(lambda _name, _value: 0)


def test_what_is_there_at_a_start_is_not_looked_through_again():
    try:
        leave_alone()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
