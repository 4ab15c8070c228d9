"""The key stream of release noise: ChaCha20, keyed by the study key and the identity of a request."""

import hmac

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from dpgrs.errors import DpgrsError, UsageError

KEY_BYTES = 32
WORD_BYTES = 4
# RFC 8439 counts 2^32 blocks of 16 words under one key and nonce.
LARGEST_STREAM_WORDS = 2**32 * 16
# Reading word by word must not cost a call of the cipher each time.
CHUNK_WORDS = 256


class KeyStream:
    """Pseudo-random words that nobody without the key can tell from fair coin flips.

    The cipher's key is HMAC-SHA256(key; identity), so that every request has a stream of its own and its
    nonce can be 0. A word is read once: skipped words never come back, and the words do not depend on how
    many are read at a time. A key or identity of a wrong length is refused, and so is a read beyond the
    cipher's 32-bit block counter.

    Examples
    --------
    >>> stream = KeyStream(bytes(32), b"example")
    >>> stream.peek(2).tolist() == stream.take(2).tolist()
    True
    """

    def __init__(
        self,
        key: bytes,  # 32, the secret study key
        identity: bytes,  # not empty, canonical encoding of everything that tells requests apart
    ) -> None:
        if len(key) != KEY_BYTES:
            raise UsageError(
                "study-key-length",
                f"The study key must be {KEY_BYTES} bytes, got {len(key)}. Make one with `dpgrs key create`.",
            )
        if not identity:
            raise UsageError(
                "identity-empty",
                "The identity of a request must not be empty. Encode its name and parameters.",
            )
        cipher_key = hmac.digest(key, identity, "sha256")
        nonce = bytes(16)  # `cryptography` puts the block counter into the first 4 bytes
        self._cipher = Cipher(ChaCha20(cipher_key, nonce), mode=None).encryptor()
        self._generated = 0
        self._waiting = np.empty(0, dtype=np.uint32)

    def peek(self, n_words: int) -> np.ndarray:
        """Return the next words without using them up, (n_words,) uint32, read-only."""
        missing = n_words - len(self._waiting)
        if missing > 0:
            self._waiting = np.concatenate([self._waiting, self._generate(max(missing, CHUNK_WORDS))])
            self._waiting.flags.writeable = False
        return self._waiting[:n_words]

    def skip(self, n_words: int) -> None:
        """Use up the next words."""
        self.peek(n_words)
        self._waiting = self._waiting[n_words:]

    def take(self, n_words: int) -> np.ndarray:
        """Return the next words and use them up; see `peek`."""
        words = self.peek(n_words)
        self.skip(n_words)
        return words

    def _generate(self, n_words: int) -> np.ndarray:
        if self._generated + n_words > LARGEST_STREAM_WORDS:
            raise DpgrsError(
                "key-stream-exhausted",
                f"A noise request must use at most {LARGEST_STREAM_WORDS} words of its key stream. "
                "Split it into requests with identities of their own.",
            )
        self._generated += n_words
        key_stream = self._cipher.update(bytes(n_words * WORD_BYTES))
        return np.frombuffer(key_stream, dtype="<u4").astype(np.uint32, copy=False)
