# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads a recording back, without ROS."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zlib import crc32

from mcap.exceptions import EndOfFile
from mcap.reader import McapReader, NonSeekingReader, SeekingReader
from mcap_ros2.decoder import DecoderFactory

from safegen_ros.errors import RecordError

_MAGIC = b'\x89MCAP0\r\n'
_CUT_OFF = (EndOfFile, struct.error)
_FOOTER = struct.Struct('<QQI')  # start of the summary, of its offsets, and their checksum
_CHECKSUM_BYTES = 4


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


def read_messages(path: Path) -> Iterator[Recorded]:
    """The messages of a recording in the order of their recording.

    A recording that a kill has cut off is read as far as it goes.

    Raises:
        RecordError: it is not an MCAP file, or damaged before its end.
        OSError: it cannot be read.
    """
    with path.open('rb') as file:
        reader = _reader_for(path, file)
        try:
            for _, channel, message, decoded in reader.iter_decoded_messages(
                log_time_order=isinstance(reader, SeekingReader)
            ):
                yield Recorded(channel.topic, message.log_time, decoded)
        except Exception as error:  # the library raises any kind for damage
            # Both kinds say that the stream ends in the middle.
            if isinstance(reader, NonSeekingReader) and isinstance(error, _CUT_OFF):
                return
            why = str(error) or type(error).__name__
            raise RecordError(f'{path}: is not a readable MCAP file: {why}') from error


def _reader_for(path: Path, file: IO[bytes]) -> McapReader:
    """The reader for a whole file, or the one for a file without its end.

    Raises:
        RecordError: the summary at the end is damaged, which the library does not look at.
    """
    size = file.seek(0, 2)
    end = max(0, size - len(_MAGIC))
    file.seek(end)
    whole = file.read() == _MAGIC and end > _FOOTER.size  # it also begins with the same bytes
    start = 0
    if whole:
        file.seek(end - _FOOTER.size)
        start, _, checksum = _FOOTER.unpack(file.read(_FOOTER.size))
        file.seek(min(start, end))
        summary = file.read(max(0, end - _CHECKSUM_BYTES - start))
        if start and checksum and crc32(summary) != checksum:
            raise RecordError(f'{path}: is not a readable MCAP file: its summary is damaged')
    file.seek(0)
    kind = SeekingReader if start else NonSeekingReader
    return kind(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
