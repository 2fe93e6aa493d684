# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tab completion, by the script that the command prints for a shell, and what it offers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.kept_runs import kept_folder

from safegen_ros.bringup.profiles import PROFILES
from safegen_ros.cli.completion import complete_problem, complete_profile, complete_profile_argument

SAFEGEN = Path(sys.executable).with_name('safegen')
IN_BASH = """
eval "$(safegen --show-completion)"
for line in "$@"; do
  read -ra COMP_WORDS <<< "$line"
  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
  _safegen_completion safegen
  echo "${COMPREPLY[@]}"
done
"""


@pytest.mark.nightly
def test_bash_completes_with_the_script_that_is_printed(tmp_path: Path) -> None:
    bash = shutil.which('bash')
    assert bash is not None
    run = kept_folder(tmp_path)
    environment = os.environ | {
        'PATH': f'{SAFEGEN.parent}:{os.environ["PATH"]}',
        'SAFEGEN_RUNS_DIR': str(tmp_path),
    }
    lines = ['safegen rese', 'safegen run blocksworld-023', f'safegen runs show {run.name[:6]}']
    done = subprocess.run(
        [bash, '-c', IN_BASH, 'bash', *lines],
        env=environment, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ['reset', 'blocksworld-023', run.name], done.stderr


def test_problems_are_ids_of_test_problems_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ('ferry-mine.pddl', 'other.pddl', '.hidden'):
        (tmp_path / name).touch()
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'folder' / 'deep.json').touch()
    offered = complete_problem('ferry-')
    assert offered[-1] == 'ferry-mine.pddl'
    assert all(name.startswith('ferry-') for name in offered)
    assert len(offered) > 1
    assert complete_problem('fol') == ['folder/']
    assert complete_problem('folder/') == ['folder/deep.json']
    assert complete_problem(f'{tmp_path}/o') == [f'{tmp_path}/other.pddl']
    assert complete_problem('nowhere/') == []
    assert '.hidden' not in complete_problem('')
    assert complete_problem('.h') == ['.hidden']


def test_profiles_and_their_arguments_come_from_the_table() -> None:
    assert [name for name, _ in complete_profile('')] == list(PROFILES)
    for name, profile in PROFILES.items():
        context = SimpleNamespace(params={'profile': name})
        offered = [text for text, _ in complete_profile_argument(context, '')]
        assert list(dict.fromkeys(text.partition(':=')[0] for text in offered)) == [
            spec.name for spec in profile.args
        ]
    context = SimpleNamespace(params={'profile': None})
    assert [text for text, _ in complete_profile_argument(context, 'auto')] == [
        'autostart:=true', 'autostart:=false'
    ]  # fmt: skip
    assert complete_profile_argument(SimpleNamespace(params={'profile': 'none'}), '') == []
