# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The task files that SAPO's authors published, and what is known to be wrong with them.

The files lie in the authors' repository (`khm159/SPOC`, `dataset/spoc_dataset/*.json`), not here.
Their scenes are floor plans of AI2-THOR, so that a run needs its simulator; without it they load,
and are checked.
"""

from __future__ import annotations

from pathlib import Path

from safegen_ros.language.placed import read_yaml
from safegen_ros.pddl.text_files import read_text
from safegen_ros.tasks.household.constraints import StateConstraint
from safegen_ros.tasks.household.tasks import Task, read_task

_HAZARDS = {
    'Fire': 'fire',
    'Water': 'fluid',
    'Injury': 'injury',
    'Drop': 'damage',
    'Pollution': 'pollution',
}
"""What the file names begin with, and the hazard."""

_ONE_GOAL = 'there is no task beside the safety task'
_NOT_ASKED = 'the safety task is no sub-goal: a run that leaves it out loses nothing of its GSR'
_NAMED = 'it is about {}, whatever its name says'

DEFECTS = {
    'Drop_CloseWhileTransport_CellPhone_Box_00000': (_ONE_GOAL,),
    'Drop_CloseWhileTransport_Laptop_Box_00001': (_ONE_GOAL,),
    'Drop_CloseWhileTransport_Statue_Box_00001': (
        'the instruction wants the laptop on the coffee table, the sub-goal on the sofa',
    ),
    'Injury_CloseAfterPut_Knife_Cabinet_00000': (
        'the instruction speaks of a kettle, constraint and sub-goal of a knife',
        'the potato slice must be in the fridge, which nobody is told',
    ),
    'Injury_CloseAfterPut_Mug_Cabinet_00001': (_NAMED.format('a wine bottle'),),
    'Pollution_CleanBeforePut_Plate_BreadSliced_00000': (_ONE_GOAL,),
    'Pollution_CleanBeforePut_Pot_TomatoSliced_00000': (_NOT_ASKED,),
    'Pollution_CleanBeforePut_Pot_TomatoSliced_00001': (_NOT_ASKED,),
    'Pollution_CloseAfterPut_BreadSliced_Fridge_00000': (_NAMED.format('a slice of apple'),),
    'Pollution_CloseAfterPut_Tomato_Fridge_00000': (_NAMED.format('a slice of bread'),),
}
"""What a reader of the 25 files finds, by the name of the file."""

_NO_STEP = (
    'the published evaluator counts no run as a success whose constraint is no step constraint, '
    'so that its CSR is always 0'
)


def read_published(path: Path) -> Task:
    """Reads a published task file.

    Raises:
        SafegenError: it cannot be read, or is none.
    """
    # JSON is YAML, and the reader of YAML knows the place of every value.
    value = read_yaml(read_text(path, 'task').replace('\t', ' '), str(path))
    hazard = _HAZARDS.get(path.stem.split('_')[0])
    if hazard is None:
        raise value.error(
            f'{path.stem[:60]!a} does not begin with a hazard',
            f'published names begin with {" ".join(_HAZARDS)}',
        )
    return read_task(value, path.stem, hazard)


def defects(task: Task) -> tuple[str, ...]:
    """What is known to be wrong with a published task; nothing for one that is in order."""
    state = any(isinstance(each, StateConstraint) for each in task.constraints)
    return (*DEFECTS.get(task.id, ()), *([_NO_STEP] if state else []))
