# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What all tests share: a ROS domain of their own, logs in a temporary folder, no network."""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from safegen_ros.ros.stack_state import DISCOVERY, use_stack_discovery
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle, load_style
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task

if TYPE_CHECKING:
    from safegen_ros.llm.transformers_backend import TransformersBackend

# Settings for every process that a test starts; they must be there before rclpy is imported. A
# worker has those of the process that has started it: half of them would be a discovery of its own.
for name in DISCOVERY:
    os.environ.pop(name, None)
use_stack_discovery()
# Nothing of a user's own, and nothing left: no test may take back a stop of a real arm.
_own = Path(tempfile.mkdtemp(prefix='safegen-test-', dir='/tmp'))  # short, for sockets below it
atexit.register(shutil.rmtree, _own, ignore_errors=True)
for name, folder in {
    'ROS_LOG_DIR': 'log', 'SAFEGEN_RUNS_DIR': 'runs', 'XDG_STATE_HOME': 'state', 'TMPDIR': 'tmp',
}.items():  # fmt: skip
    _own.joinpath(folder).mkdir()
    os.environ[name] = str(_own / folder)
os.environ['HF_HUB_OFFLINE'] = '1'
os.environ['OMP_NUM_THREADS'] = '1'

# Each worker, and each of the many processes that tests start, would compile all of the package.
os.environ.pop('PYTHONDONTWRITEBYTECODE', None)
sys.dont_write_bytecode = False

# The same examples in every run, however slow the machine.
settings.register_profile(
    'suite', deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile('day', settings.get_profile('suite'), max_examples=20)
settings.load_profile('suite')

# A runner in the background of a shell ignores SIGINT, one under nohup SIGHUP, and what a test
# starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A worker imports all tests, which is 800 MB to look through for garbage again and again.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr:  # `make test-all` has none
        settings.load_profile('day')


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


# Ids that DDS maps to ports below the ephemeral range of Linux, but for 100, which stays empty; and
# where their locks are: a folder that all suites on this machine share.
_DOMAINS = range(1, 100)
_LOCKS = Path('/tmp/safegen-test-domains')


@pytest.fixture(scope='session')
def ros_domain() -> Iterator[int]:
    """A ROS domain id that no other test process on this machine uses, set in the environment."""
    _LOCKS.mkdir(exist_ok=True)
    for domain in _DOMAINS:
        with (_LOCKS / str(domain)).open('w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            os.environ['ROS_DOMAIN_ID'] = str(domain)
            yield domain
            return
    raise RuntimeError(f'all of {len(_DOMAINS)} ROS domain ids are taken: end stale test runs')


@pytest.fixture(scope='module', autouse=True)
def runtime_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of the module's own for what stacks leave behind, such as a stop that is latched."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp('runtime')
        patch.setenv('SAFEGEN_RUNTIME_DIR', str(folder))
        patch.setenv('SAFEGEN_STATE_DIR', str(folder))
        yield folder


@pytest.fixture(scope='session')
def tower_order() -> Pddl3Task:
    """The example of the README: five blocks and one `sometime-before`."""
    path = Path(__file__).parents[1] / 'examples' / 'tower_order.pddl'
    return load_task(path.read_text(encoding='utf-8'), problem_source=str(path))


@pytest.fixture(scope='session')
def word_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete folder of a model of words with random weights; it is read only."""
    from support import llm_small  # the quick tier runs without torch

    return llm_small.word_model(tmp_path_factory.mktemp('words'), seed=1)


@pytest.fixture(scope='session')
def word_backend(word_folder: Path) -> TransformersBackend:
    """That model in this process."""
    from safegen_ros.llm.transformers_backend import TransformersBackend

    return TransformersBackend(word_folder, 'cpu')


@pytest.fixture
def adapters(word_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of random adapters of that model."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    config = LoraConfig(r=4, target_modules='all-linear', init_lora_weights=False)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(word_folder), config)
    model.save_pretrained(tmp_path / 'adapters')
    (tmp_path / 'adapters/safegen.json').write_text('{"prompt_style": "instruct"}')
    monkeypatch.setattr('safegen_ros.llm.model_folder.BASES', word_folder.parent)
    return tmp_path / 'adapters'


@pytest.fixture(scope='session')
def word_style(word_folder: Path) -> PromptStyle:
    """The style that it is asked in."""
    return load_style(word_folder)
