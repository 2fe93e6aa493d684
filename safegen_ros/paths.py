# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the files of this package lie: config, launch, models and urdf, and its run records."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from safegen_ros.errors import UsageError

PACKAGE = 'safegen_ros'

LOG_DIRS = 50
"""Logs of stacks that are kept."""


class DataNotFoundError(UsageError):
    """A file or folder of the package that is in none of the places where it may be."""


def _checkout() -> Path:
    return Path(__file__).resolve().parents[1]


def _ament_prefixes() -> Iterator[Path]:
    """Prefixes of AMENT_PREFIX_PATH whose index names this package (REP 122 layout)."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        marker = Path(prefix) / 'share/ament_index/resource_index/packages' / PACKAGE
        if prefix and marker.is_file():
            yield Path(prefix)


def share_dir() -> Path:
    """Folder that holds `config/`, `launch/`, `models/` and `urdf/` of this very code.

    It is the checkout where the code runs from one, else `share/safegen_ros` below the prefix that
    the code was installed in. Code that lies elsewhere takes what the ament index names, which is
    read directly: the ROS wheels do not set AMENT_PREFIX_PATH. The prefix of the interpreter is not
    asked: another installation there may describe another table.

    Raises:
        DataNotFoundError: none of them exists.
    """
    if (_checkout() / 'config' / 'scene.yaml').is_file():
        return _checkout()
    own = Path(__file__).resolve().parents[2:]  # it may be installed below any of them
    for candidate in (prefix / 'share' / PACKAGE for prefix in (*own, *_ament_prefixes())):
        if (candidate / 'config').is_dir():
            return candidate
    raise DataNotFoundError(
        f'the data files of {PACKAGE} are in no share/{PACKAGE} above {_checkout()} and in none of '
        f'AMENT_PREFIX_PATH ({os.environ.get("AMENT_PREFIX_PATH", "")}): install it again'
    )


def data_path(name: str | Path) -> Path:
    """Find a file or folder that a parameter names.

    Args:
        name: an absolute path, or one relative to the working directory or to `share_dir()`.

    Returns:
        Its absolute path.

    Raises:
        DataNotFoundError: it is in none of those places.
    """
    wanted = Path(name).expanduser()
    candidates = [wanted] if wanted.is_absolute() else [Path.cwd() / wanted, share_dir() / wanted]
    for candidate in candidates:
        if candidate.exists():
            return candidate.resolve()
    others = ', '.join(dict.fromkeys(str(each) for each in candidates if each != wanted))
    looked = f' (looked at: {others})' if others else ''
    shipped = wanted.match('models/safegen-*') and not any(p.parent.exists() for p in candidates)
    cure = 'install the package safegen_ros_models' if shipped else 'check the path'
    raise DataNotFoundError(f'{name} does not exist{looked}: {cure}')


def install(extra: str) -> str:
    """The command that installs the packages of an extra."""
    made = (_checkout() / 'requirements' / f'{extra}.in').is_file()
    return (
        'make setup && source .venv/bin/activate' if made else f"pip install '{PACKAGE}[{extra}]'"
    )


def runs_dir() -> Path:
    """Folder of the run records, which need not be there.

    SAFEGEN_RUNS_DIR, else `runs/` in the working directory, else, where that cannot be written, as
    that of a system service, `safegen/runs` below XDG_STATE_HOME.
    """
    if wanted := os.environ.get('SAFEGEN_RUNS_DIR'):
        return Path(wanted).expanduser().absolute()
    here = Path('runs').absolute()
    if os.access(here if here.exists() else here.parent, os.W_OK | os.X_OK):
        return here
    return _state_home() / 'safegen' / 'runs'


def new_run_dir(root: Path, now: datetime | None = None) -> Path:
    """Make a folder for a run that no other run has, which only its owner may read.

    Args:
        now: time for its name; the present when None.

    Returns:
        Its path, such as `runs/20260131T142500Z-3f9c`.
    """
    stamp = (now or datetime.now(timezone.utc)).astimezone(timezone.utc)
    root.mkdir(parents=True, exist_ok=True)
    while True:
        folder = root / f'{stamp:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}'
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder


def state_dir() -> Path:
    """Folder of this user for what outlives session and reboot; made when missing.

    `safegen` below SAFEGEN_STATE_DIR, else below XDG_STATE_HOME.

    Raises:
        DataNotFoundError: it cannot be made or written, or belongs to somebody else.
    """
    wanted = os.environ.get('SAFEGEN_STATE_DIR')
    folder = (Path(wanted).expanduser().absolute() if wanted else _state_home()) / 'safegen'
    cure = 'set SAFEGEN_STATE_DIR to a permanent folder, or fix its permissions'
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataNotFoundError(f'{folder} cannot be made ({error}): {cure}') from None
    if folder.stat().st_uid != os.getuid():
        raise DataNotFoundError(f'{folder} belongs to another user: {cure}')
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise DataNotFoundError(f'{folder} cannot be written: {cure}')
    return folder


def release_dir() -> Path:
    """Folder of the releases of executors: SAFEGEN_RELEASE_DIR where that is set, else `state_dir`.

    A stack whose stops end with it has its own folder; its keys and records are still the user's.
    """
    own = os.environ.get('SAFEGEN_RELEASE_DIR')
    return Path(own).expanduser().absolute() if own else state_dir()


def new_log_dir() -> Path:
    """A new folder for the logs of a stack, for which the oldest ones make room."""
    try:
        root = state_dir() / 'logs'
        root.mkdir(mode=0o700, exist_ok=True)
        stamp = datetime.now(timezone.utc).strftime('%Y%m%dT%H%M%SZ-')
        made = Path(tempfile.mkdtemp(prefix=stamp, dir=root))
    except (DataNotFoundError, OSError):
        return Path(tempfile.mkdtemp(prefix='safegen-'))
    for old in sorted(root.iterdir())[:-LOG_DIRS]:
        shutil.rmtree(old, ignore_errors=True)
    return made


def _state_home() -> Path:
    return Path(os.environ.get('XDG_STATE_HOME') or '~/.local/state').expanduser().absolute()


def runtime_dir() -> Path:
    """Folder of this user for locks, which end with the session; made when missing.

    Raises:
        DataNotFoundError: the folder belongs to somebody else.
    """
    base = os.environ.get('SAFEGEN_RUNTIME_DIR') or os.environ.get('XDG_RUNTIME_DIR')
    # A fixed name in the shared temporary folder, so that every shell of the user sees one lock.
    fallback = Path(os.environ.get('TMPDIR') or '/tmp') / f'safegen-{os.getuid()}'  # noqa: S108
    folder = Path(base) / 'safegen' if base else fallback
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise DataNotFoundError(f'{folder} belongs to another user: set SAFEGEN_RUNTIME_DIR')
    return folder


def write_durably(path: Path, text: str) -> None:
    """Write a file so that after a power cut it is whole, or the one before is."""
    scratch = path.with_name(path.name + '.tmp')
    with scratch.open('w', encoding='utf-8', errors='backslashreplace') as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
