import hashlib
import hmac
import struct
from functools import partial

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.noise import stream
from dpgrs.privacy.noise.stream import KeyStream
from refused import refused

KEY = bytes(range(32))
MASK = 2**32 - 1


def rotated(word, count):
    return (word << count | word >> (32 - count)) & MASK


def chacha20_block(key, counter, nonce):
    """The block function as section 2.3 of RFC 8439 prints it."""
    start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), counter]
    start += struct.unpack("<3I", nonce)
    x = list(start)
    columns = [(i, i + 4, i + 8, i + 12) for i in range(4)]
    diagonals = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]
    for a, b, c, d in 10 * (columns + diagonals):
        for target, source, turned, count in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
            x[target] = (x[target] + x[source]) & MASK
            x[turned] = rotated(x[turned] ^ x[target], count)
    return [(mixed + first) & MASK for mixed, first in zip(x, start, strict=True)]


def hmac_sha256(key, message):
    """RFC 2104, for a key of 32 bytes."""
    inner, outer = (bytes(byte ^ pad for byte in key.ljust(64, b"\0")) for pad in (0x36, 0x5C))
    return hashlib.sha256(outer + hashlib.sha256(inner + message).digest()).digest()


def test_chacha20_block__rfc_8439_section_2_3_2():
    block = chacha20_block(KEY, 1, bytes.fromhex("000000090000004a00000000"))
    assert struct.pack("<16I", *block).hex() == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )


def test_key_stream__rfc_8439_appendix_a_1(monkeypatch):
    monkeypatch.setattr(hmac, "digest", lambda *_: bytes(32))
    words = KeyStream(KEY, b"any").take(32)
    assert words.astype("<u4").tobytes().hex() == (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    )


def test_key_stream__equals_independent_recomputation():
    identity = b'{"mechanism": "gram", "version": 1}'
    cipher_key = hmac_sha256(KEY, identity)
    expected = [word for block in range(20) for word in chacha20_block(cipher_key, block, bytes(12))]
    assert KeyStream(KEY, identity).take(320).tolist() == expected


@pytest.mark.parametrize("reads", [[1000], [1] * 1000, [0, 255, 2, 743], [257, 700, 43]])
def test_key_stream__words_do_not_depend_on_reads(reads):
    words = KeyStream(KEY, b"identity")
    read = np.concatenate([words.take(n_words) for n_words in reads])
    np.testing.assert_array_equal(read, KeyStream(KEY, b"identity").take(1000))


def test_peek__uses_nothing_up():
    words = KeyStream(KEY, b"identity")
    first = words.peek(3)
    assert (first.dtype, first.flags.writeable) == (np.uint32, False)
    words.peek(5000)
    assert words.take(3).tolist() == first.tolist()
    assert words.peek(1).tolist() != first[:1].tolist()


def test_key_stream__other_key_or_identity_other_words():
    streams = [KeyStream(KEY, b"a"), KeyStream(KEY, b"b"), KeyStream(bytes(32), b"a")]
    assert len({tuple(words.take(4).tolist()) for words in streams}) == 3


def test_skip__uses_up_words_that_nobody_peeked_at():
    stream_of = partial(KeyStream, bytes(32), b"identity")
    skipped = stream_of()
    skipped.skip(1000)
    assert skipped.take(5).tolist() == stream_of().take(1005)[1000:].tolist()


@pytest.mark.parametrize(
    ("most_words", "n_words"), [(2 * stream.CHUNK_WORDS - 1, stream.CHUNK_WORDS), (512, 512)]
)
def test_take__raises_before_the_counter_overflows(monkeypatch, most_words, n_words):
    monkeypatch.setattr(stream, "LARGEST_STREAM_WORDS", most_words)
    words = KeyStream(bytes(32), b"identity")
    words.take(n_words)
    with refused("key-stream-exhausted", most_words):
        words.take(1)


def test_largest_stream__is_that_of_a_block_counter_of_32_bits():
    assert stream.LARGEST_STREAM_WORDS == 2**36


@pytest.mark.parametrize(
    ("key", "identity", "code"),
    [
        *((bytes(length), b"identity", "study-key-length") for length in (0, 31, 33)),
        (KEY, b"", "identity-empty"),
    ],
)
def test_key_stream__raises_on(key, identity, code):
    with refused(code, error=UsageError):
        KeyStream(key, identity)


def test_key_stream__never_shows_its_key():
    words = KeyStream(KEY, b"identity")
    shown = repr(words) + repr(vars(words))
    assert KEY.hex() not in shown
    assert repr(KEY) not in shown
