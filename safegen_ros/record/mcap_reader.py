# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads a recording back, without ROS."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mcap.exceptions import EndOfFile
from mcap.reader import McapReader, NonSeekingReader, SeekingReader
from mcap_ros2.decoder import DecoderFactory

from safegen_ros.record.json_form import RecordError

_MAGIC = b'\x89MCAP0\r\n'
_CUT_OFF = (EndOfFile, struct.error)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One message of a recording.

    Attributes:
        topic: full topic name.
        time_ns: when it was recorded, since the epoch [ns].
        message: the decoded message, with the fields of its ROS type.
    """

    topic: str
    time_ns: int
    message: Any


def read_messages(path: Path, topics: Iterable[str] | None = None) -> Iterator[Recorded]:
    """The messages of a recording in the order of their recording.

    A recording that a kill has cut off is read as far as it goes.

    Args:
        topics: only these full topic names; all when None.

    Raises:
        RecordError: it is not an MCAP file, or damaged before its end.
        OSError: it cannot be read.
    """
    chosen = None if topics is None else list(topics)
    with path.open('rb') as file:
        reader = _reader_for(file)
        try:
            for _, channel, message, decoded in reader.iter_decoded_messages(
                topics=chosen, log_time_order=isinstance(reader, SeekingReader)
            ):
                yield Recorded(channel.topic, message.log_time, decoded)
        except Exception as error:  # the library raises any kind for what is damaged
            # Both of these are how it says that the stream ends in the middle.
            if isinstance(reader, NonSeekingReader) and isinstance(error, _CUT_OFF):
                return
            why = str(error) or type(error).__name__
            raise RecordError(f'{path}: is not a readable MCAP file: {why}') from error


def _reader_for(file: IO[bytes]) -> McapReader:
    """The reader for a whole file, or the one for a file without its end."""
    size = file.seek(0, 2)
    file.seek(max(0, size - len(_MAGIC)))
    whole = file.read() == _MAGIC and size > len(_MAGIC)  # it also begins with the same bytes
    file.seek(0)
    decoders = [DecoderFactory()]
    if whole:
        return SeekingReader(file, validate_crcs=True, decoder_factories=decoders)
    return NonSeekingReader(file, validate_crcs=True, decoder_factories=decoders)
