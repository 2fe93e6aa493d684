# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The record of one run as plain values, its folder, its JSON form, and what made it."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from safegen_ros.errors import ErrorCode, RecordError
from safegen_ros.record.signatures import ApprovalRecord
from safegen_ros.robot.cell.settings import ARM_CELL
from safegen_ros.schema import SchemaReader, plain
from safegen_ros.verdict import Category, Verdict

NO_VERDICT = Verdict()

TWIN, SYMBOLIC = 'twin', 'symbolic'
"""What executes; the second one moves nothing."""
ASSUMED = 'mycobot, blocks assumed'
"""The real arm, whose table is not measured."""


def cell_name(cell: str, world: str) -> str:
    """What a record says about where it was executed.

    Args:
        cell: parameter `cell` of the executor.
        world: its parameter `world`, which counts for the real arm only.
    """
    return ASSUMED if cell == ARM_CELL and world == 'assumed' else cell


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """The task as it was sent.

    Attributes:
        source: file it came from, or the name of the client.
        domain: PDDL text; empty for the built-in domain of that name.
        format: what that is written in, such as 'json'.
        pddl: PDDL of the problem where it was sent in another format; empty where not, and where
            words were not understood.
        places: what verdicts call the texts of the problem and the domain.
        constraints: PDDL3 that was given with words.
        start: PDDL problem with the state to start from, likewise.
    """

    name: str
    source: str
    domain_name: str
    domain: str
    problem: str
    format: str = 'pddl'
    pddl: str = ''
    places: tuple[str, str] = ('<problem>', '<domain>')
    constraints: str = ''
    start: str = ''


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The plan writer and how it was asked.

    Attributes:
        name: name or folder of the model.
        temperature: sampling temperature [1].
        top_p: probability mass kept by nucleus sampling [1].
        search_fallback: whether the search planner was allowed to answer.
    """

    name: str
    max_attempts: int
    temperature: float
    top_p: float
    seed: int
    search_fallback: bool


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One answer and what the verifier said.

    Attributes:
        number: from 1.
        source: the level that proposed it: 'model', 'shield', 'beam 4', 'search', ...
        text: the answer, in the names of the task where they could be put back.
        steps: the steps read from it, each as '(action arguments)'.
        seconds: from asking to the verdict [s].
        base: how many steps had been taken at its request; it plans the rest.
        replan: the number of the `ReplanRecord` whose task it plans for; 0 for that of the run.
    """

    number: int
    source: str
    text: str
    steps: tuple[str, ...]
    verdict: Verdict
    seconds: float
    base: int = 0
    replan: int = 0

    @property
    def title(self) -> str:
        """Its number and source, and what it continues."""
        after = f', after {self.base} steps' if self.base else ''
        after += f', plan {self.replan + 1} of the task' if self.replan else ''
        return f'Attempt {self.number} by {self.source}{after}'

    @property
    def unread(self) -> bool:
        """Whether it could not be read, so that its names may be those that the model uses."""
        return self.source != 'search' and self.verdict.category is Category.FORMAT_ERROR


@dataclass(frozen=True, slots=True)
class ReplanRecord:
    """The task was planned again, since the observed world was not the one of the proof.

    Attributes:
        number: from 1.
        steps_done: how many steps of the plan before had been executed and observed.
        domain: PDDL; empty for the built-in domain.
        problem: the rest of the task, in PDDL.
    """

    number: int
    reason: str
    steps_done: int
    domain: str
    problem: str


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """The tool let go of its load, at an operator's word.

    Attributes:
        phase: 'asked', and then 'done' or 'failed'.
        said: its result; empty while it runs.
        at: UTC, ISO 8601.
    """

    phase: str
    said: str
    at: str


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One executed step.

    Attributes:
        index: from 0.
        step: '(action arguments)'.
        begun_s: start, from the start of the execution, in wall time [s].
        seconds: duration in wall time [s]; None when it did not end.
    """

    index: int
    step: str
    begun_s: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class WorldRecord:
    """The observation at a moment.

    Attributes:
        done: how many steps had been executed.
        facts: the atoms that held, as PDDL text.
        unseen: the objects that were out of view, for which the facts are assumed.
        look: the object that was looked at right before; empty behind a step, and at first.
        text: the same in words, where the model reads words.
    """

    done: int
    facts: tuple[str, ...]
    unseen: tuple[str, ...] = ()
    look: str = ''
    text: str = ''


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """Where a block was measured at the end.

    Attributes:
        name: its object name.
        position: x, y, z of the centre in the base frame of the arm [m].
        orientation: unit quaternion x, y, z, w.
    """

    name: str
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class GoalRecord:
    """One condition of the goal against the world at the end.

    Attributes:
        condition: PDDL text, such as '(on b1 b2)'.
        holds: whether it was observed to hold.
    """

    condition: str
    holds: bool


@dataclass(frozen=True, slots=True)
class ArtefactRecord:
    """A file of the run.

    Attributes:
        name: its kind, such as 'video'.
        file: file name in the folder of the run; empty when it was not made.
        note: its size or length, or why it is missing and how to get it next time.
    """

    name: str
    file: str
    note: str = ''


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """What a model wrote for a task in words.

    Attributes:
        reading: which of the independent translations it belongs to, from 1.
        attempt: of that reading, from 1.
        refused: why it could not be used, or was in doubt; empty otherwise.
    """

    reading: int
    attempt: int
    text: str
    refused: str


@dataclass(frozen=True, slots=True)
class UnderstoodRecord:
    """What a task in words was understood as.

    Attributes:
        domain: PDDL; empty for the built-in domain of that name.
        problem: PDDL, with all constraints.
        reading: the same in canonical words.
        question: to the person: the doubts, line by line; without a problem, what is meant.
        digest: of request, problem and doubts; a client accepts the reading by it.
    """

    name: str = ''
    domain_name: str = ''
    domain: str = ''
    problem: str = ''
    reading: str = ''
    question: str = ''
    digest: str = ''


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The data of a report about a run.

    Attributes:
        started: UTC, ISO 8601.
        plan: the plan that was executed or would have been; empty when there is none.
        plan_source: the level that proposed it, or the client's name.
        steps: what was begun, as its progress was heard.
        steps_done: how many steps were executed and observed.
        worlds: the observations, in order; of a run by the nodes only the last world.
        blocks: measured poses at the end.
        goal: each condition of the goal against the world at the end.
        reached: whether that world satisfies the goal; None when it was not observed.
        cell: what executed, see `cell_name`; empty when no stack was reached.
        error_code: what ended the run; `NONE` for success.
        timings: seconds by name, such as 'planning' [s].
        versions: version by name, with the commit of the source where it is known.
        stepwise: whether each step was chosen after the one before, as `safegen step` does it.
        second_opinion: whether VAL had to agree with the verdicts on the attempts.
        approved_by: who allowed the last plan; empty without an approval.
        answers: what a model wrote for a task in words.
        understood: what those words were understood as; None where there were none, or nothing was.
        passed: why planners were passed over, in order.
        releases: what an operator had the tool let go of, after it and before the next run.
        site: digest of the site file that bound the goal; empty: none, or not known.
        approvals: what operators answered about its plans, in order.
        unbound: rules of the site that do not apply to the task, each with the reason.
    """

    run_id: str
    started: str
    task: TaskRecord
    model: ModelRecord
    attempts: tuple[AttemptRecord, ...] = ()
    plan: tuple[str, ...] = ()
    plan_source: str = ''
    verdict: Verdict = NO_VERDICT
    steps: tuple[StepRecord, ...] = ()
    steps_done: int = 0
    worlds: tuple[WorldRecord, ...] = ()
    blocks: tuple[BlockRecord, ...] = ()
    goal: tuple[GoalRecord, ...] = ()
    reached: bool | None = None
    cell: str = ''
    error_code: ErrorCode = ErrorCode.UNKNOWN
    message: str = ''
    timings: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    artefacts: tuple[ArtefactRecord, ...] = ()
    stepwise: bool = False
    second_opinion: bool = False
    replans: tuple[ReplanRecord, ...] = ()
    approved_by: str = ''
    answers: tuple[AnswerRecord, ...] = ()
    understood: UnderstoodRecord | None = None
    releases: tuple[ReleaseRecord, ...] = ()
    passed: tuple[str, ...] = ()
    site: str = ''
    approvals: tuple[ApprovalRecord, ...] = ()
    unbound: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it was proved, executed to the end, and observed to meet the goal."""
        return self.error_code is ErrorCode.NONE and self.verdict.ok and self.reached is True

    @property
    def plans(self) -> tuple[tuple[str, ...], ...]:
        """The steps of the last plan, and of each that the attempts made."""
        plans, so_far = [self.plan], tuple[str, ...]()
        for each in self.attempts:
            so_far = (*so_far[: each.base], *each.steps)
            plans.append(so_far)
        return tuple(plans)

    def to_json(self) -> str:
        """The record as JSON text; enumerations by name."""
        return json.dumps(plain(self), indent=2, ensure_ascii=False) + '\n'

    @classmethod
    def from_json(cls, text: str) -> RunRecord:
        """Read a record back.

        Raises:
            RecordError: it is not JSON, or a field is missing, unknown or of another type.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise RecordError(f'report.json: is not JSON: {error}') from error
        return SchemaReader('', RecordError).read(cls, data, 'report')


DISTRIBUTIONS = (
    'safegen-ros', 'safegen-msgs', 'ros-rclpy', 'ros-rmw-fastrtps-cpp', 'torch', 'transformers',
    'mujoco', 'numpy',
)  # fmt: skip


def versions() -> dict[str, str]:
    """Version by name of this interpreter, the system and the installed packages that matter."""
    found = {'python': platform.python_version(), 'system': platform.platform()}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def source_commit(folder: Path) -> str:
    """Commit of a checkout, with '+changes' when files differ from it; empty outside of one."""
    git = shutil.which('git')
    if git is None:
        return ''

    def ask(*words: str) -> str | None:
        command = [git, '-C', str(folder), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    # A folder inside another checkout, such as a virtual environment, is not that source.
    top = ask('rev-parse', '--show-toplevel')
    commit = ask('rev-parse', '--verify', 'HEAD')
    if not commit or top is None or Path(top) != folder.resolve():
        return ''
    return f'{commit}+changes' if ask('status', '--porcelain') else commit
