"""Streams: a published generator, addressed by seed and problem, never by the order of calls."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isingsample import Exact, IsingProblem
from isingsample._core.streams import Streams, philox

SEEDS = st.integers(-(2**200), 2**200)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000",
         "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
         "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
         "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
    ids=["zeros", "ones", "pi"],
)  # fmt: skip
def test_philox_gives_the_known_answers_of_random123(counter: str, key: str, words: str) -> None:
    def parse(text: str) -> list[int]:
        return [int(word, 16) for word in text.split()]

    first, second = parse(key)
    single = philox(np.array(parse(counter), np.uint64), (first, second))
    assert single.tolist() == parse(words)
    grid = np.broadcast_to(np.array(parse(counter), np.uint64)[:, None, None], (4, 2, 3))
    assert (parse(words) == philox(grid, (first, second)).T).all()


def test_samples_do_not_change_between_releases() -> None:
    drawn = Streams.from_seed(0).uniforms(np.array([0, 1]), 2)
    recorded = [[0.12218689592390075, 0.5402450924075861], [0.1250386924737248, 0.8759956595114565]]
    np.testing.assert_array_equal(drawn, recorded)


@given(SEEDS, st.integers(1, 50), st.integers(1, 9))
def test_a_stream_does_not_depend_on_the_batch(seed: int, batch: int, num: int) -> None:
    streams = Streams.from_seed(seed)
    alone = streams.uniforms(np.array(batch - 1), num)
    together = streams.uniforms(np.arange(batch), num)
    np.testing.assert_array_equal(together[-1], alone)
    shuffled = np.random.default_rng(0).permutation(batch).reshape(1, batch)
    np.testing.assert_array_equal(streams.uniforms(shuffled, num)[0], together[shuffled[0]])
    integers = streams.integers(shuffled)
    np.testing.assert_array_equal(integers[0], streams.integers(np.arange(batch))[shuffled[0]])


@given(st.integers(1, 40), st.integers(1, 40))
def test_a_longer_request_begins_with_a_shorter_one(short: int, more: int) -> None:
    streams = Streams.from_seed(1)
    longer = streams.uniforms(np.arange(3), short + more)
    np.testing.assert_array_equal(longer[:, :short], streams.uniforms(np.arange(3), short))


def test_seeds_problems_and_purposes_have_streams_of_their_own() -> None:
    seeds = [0, 1, -1, 2**32, 2**32 + 1, -(2**32), 2**64, 2**128, 2**200, 10**400]
    index = np.array([0, 1, 2, 2**32, 2**40])
    drawn = [
        Streams.from_seed(seed).uniforms(index, 3, purpose) for seed in seeds for purpose in (0, 1)
    ]
    assert len(np.unique(np.array(drawn))) == len(seeds) * 2 * len(index) * 3


@given(st.integers(1, 2**200))
def test_negative_seeds_are_not_mistaken_for_large_ones(seed: int) -> None:
    keys = {Streams.from_seed(s).key for s in (seed, -seed, seed + 2**32, seed + 2**64)}
    assert len(keys) == 4


@pytest.mark.parametrize("seed", [np.int64(7), np.uint8(7), np.int32(7)])
def test_numpy_integers_are_integers(seed: Any) -> None:
    assert Streams.from_seed(seed) == Streams.from_seed(7)


def test_a_generator_is_used_up_a_little_each_time() -> None:
    generator = np.random.default_rng(3)
    first, second = Streams.from_seed(generator), Streams.from_seed(generator)
    assert first != second
    assert first == Streams.from_seed(np.random.default_rng(3))


def test_none_is_fresh_entropy() -> None:
    assert Streams.from_seed(None) != Streams.from_seed(None)


def test_a_seed_is_hashed_when_something_is_drawn(monkeypatch: Any) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("hashed")

    generator = np.random.default_rng(3)
    expected = [Streams.from_seed(seed).uniforms(np.array(0), 2) for seed in (7, generator)]
    generator = np.random.default_rng(3)
    with monkeypatch.context() as patch:
        patch.setattr(np.random, "SeedSequence", refuse)
        Exact().sample(IsingProblem(np.zeros(2)), seed=3)
        later = [Streams.from_seed(seed) for seed in (7, generator, None)]
        generator.random()  # what happens to it in the meantime does not matter
        with pytest.raises(AssertionError, match="hashed"):
            _ = later[0].key
    np.testing.assert_array_equal([s.uniforms(np.array(0), 2) for s in later[:2]], expected)
    copied = pickle.loads(pickle.dumps(later[2]))
    assert copied == later[2]
    assert repr(copied) == repr(later[2])


@pytest.mark.parametrize("seed", [True, 1.0, "1", (1,), np.bool_(True), np.array(1.0), b"1"])
def test_other_seeds_are_refused(seed: Any) -> None:
    with pytest.raises(TypeError, match=r"seed must be an integer, a numpy.random.Generator or"):
        Streams.from_seed(seed)


def test_another_process_draws_the_same() -> None:
    code = (
        "import numpy as np; from isingsample._core.streams import Streams; "
        "print(Streams.from_seed(-12345).uniforms(np.arange(4), 3).tobytes().hex())"
    )
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert printed == Streams.from_seed(-12345).uniforms(np.arange(4), 3).tobytes().hex()


def test_threads_draw_the_same() -> None:
    streams = Streams.from_seed(5)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda i: streams.uniforms(np.array(i), 100), range(64)))
    np.testing.assert_array_equal(drawn, streams.uniforms(np.arange(64), 100))


def test_uniforms_are_uniform_in_every_bit() -> None:
    drawn = Streams.from_seed(11).uniforms(np.arange(1000), 100)
    assert 0 <= drawn.min() < 1e-4
    assert 1 - 1e-4 < drawn.max() < 1
    # A bit of R fair coins: its mean has the standard deviation 0.5 / sqrt(R).
    bits = (drawn * 2.0**53).astype(np.uint64)[..., None] >> np.arange(53, dtype=np.uint64) & 1
    assert np.abs(bits.mean(axis=(0, 1)) - 0.5).max() < 5 * 0.5 / np.sqrt(drawn.size)


def test_neighbouring_streams_are_uncorrelated() -> None:
    centred = Streams.from_seed(12).uniforms(np.arange(101), 10_000) - 0.5
    correlation = 12 * (centred[1:] * centred[:-1]).mean(axis=1)
    assert np.abs(correlation).max() < 5 / np.sqrt(10_000)
    lagged = 12 * (centred[:, 1:] * centred[:, :-1]).mean(axis=1)
    assert np.abs(lagged).max() < 5 / np.sqrt(10_000)


def test_integers_fit_a_foreign_generator() -> None:
    seeds = Streams.from_seed(13).integers(np.arange(10_000))
    assert seeds.dtype == np.int64
    assert seeds.min() >= 0
    assert 2**30 < seeds.max() < 2**31
    # Birthdays: 10_000 draws from 2**31 share about 0.02 pairs.
    assert len(np.unique(seeds)) >= 9_999


@pytest.mark.parametrize("skip", [0, 1, 2, 7])
def test_a_later_part_of_a_stream(skip: int) -> None:
    streams, index = Streams.from_seed(3), np.arange(4)
    whole = streams.uniforms(index, 20, 5)
    np.testing.assert_array_equal(
        streams.uniforms(index, 9, 5, skip=skip), whole[:, skip : skip + 9]
    )
