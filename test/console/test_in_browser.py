# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An operator's hour in a real browser: refused, repaired, approved, stopped, reset, seen again.

The tests are one story, in their order; each begins where the one before has ended.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from support.browser import NO_BROWSER, SIZE, TABLET, WAIT_MS, Screen, browser, chromium, named
from support.model_server import Script
from support.waiting import wait_until

from safegen_ros.client import Client, Options
from safegen_ros.console.console import OperatorConsole, Settings
from safegen_ros.console.rehearsed import LIMIT_S, RehearsedMotion
from safegen_ros.errors import ErrorCode
from safegen_ros.paths import data_path

if not chromium():
    warnings.warn(NO_BROWSER, stacklevel=1)
    pytest.skip(NO_BROWSER, allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

UNSAFE = """(unstack b2 b1)
(putdown b2)
(unstack b5 b3)
(putdown b5)
(unstack b3 b4)
(putdown b3)
(pickup b4)
(stack b4 b3)
(pickup b1)
(stack b1 b4)"""
SAFE = """(unstack b5 b3)
(putdown b5)
(unstack b3 b4)
(putdown b3)
(pickup b4)
(stack b4 b3)
(unstack b2 b1)
(putdown b2)
(pickup b1)
(stack b1 b4)"""
TWO = """(define (problem two) (:domain blocksworld) (:objects c1 c2)
  (:init (arm-empty) (on-table c1) (on-table c2) (clear c1) (clear c2))
  (:goal (on c1 c2)))"""
LATER = re.compile(r' at (?!0\.0 )\d+\.\d s')
AXE = Path(__file__).parents[2] / '.cache/axe/node_modules/axe-core/axe.min.js'
FAULTS = """async () => (await axe.run({resultTypes: ['violations']})).violations.map(
  (e) => [e.id, e.impact, e.nodes.map((node) => node.html.slice(0, 200))])"""
STEPS, DARK = '(pickup c1)\n(stack c1 c2)', '[data-mantine-color-scheme=dark]'


@pytest.fixture(scope='module')
def opened() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope='module')
def screen(console: OperatorConsole, opened: Browser) -> Iterator[Screen]:
    size = {'width': SIZE[0], 'height': SIZE[1]}
    page = opened.new_page(viewport=size, accept_downloads=True)
    yield Screen(page, console.url)
    page.close()


def goal_of(console: OperatorConsole):
    goal = console.state.snapshot.goal
    assert goal is not None
    return goal


def rehearsal_of(console: OperatorConsole) -> RehearsedMotion:
    """That of the plan, which gets what the browser and the arm leave of the processors."""
    deadline = time.monotonic() + LIMIT_S
    while (motion := console.rehearsed) is None:
        assert time.monotonic() < deadline, 'the plan was not rehearsed'
        time.sleep(0.1)
    return motion


def height_of(console: OperatorConsole, block: str) -> float:
    """Of its middle, as it was measured last [m]."""
    return console.state.snapshot.look.poses[block].position[2]


def a_rule_in_plain_words_is_shown_with_its_formula_before_it_is_added(screen: Screen) -> None:
    screen.sees('block b1 is on block b4')
    screen.open('Rules')
    screen.write('Add a rule', 'never put anything on b3')
    screen.click('Add the rule')
    screen.sees('no plan can keep')
    screen.write('Add a rule', 'b5 must never be on b1')
    screen.click('Add the rule')
    screen.sees('At all times, block b5 is not on block b1.')
    screen.sees('(always (not (on b5 b1)))')
    screen.button('Take back the last rule').scroll_into_view_if_needed()
    screen.picture('console-task')
    screen.click('Take back the last rule')
    expect(screen.page.get_by_text('(always (not (on b5 b1)))')).to_have_count(0, timeout=WAIT_MS)


def an_unsafe_attempt_is_refused_in_words_and_the_repaired_one_waits(
    screen: Screen, console: OperatorConsole, script: Script
) -> None:
    script.answers = [UNSAFE, SAFE]
    screen.click('Plan, prove and execute')
    screen.sees('waits for you')
    screen.open('Plan')
    screen.sees('put b2 down on the table — here it fails')
    screen.sees('Refused, nothing moves')
    screen.sees('before step 2')
    verdicts = [attempt.verdict.ok for attempt in goal_of(console).record.attempts]
    assert verdicts == [False, True]
    pending = console.state.snapshot.pending
    assert pending is not None
    assert pending.may_be_approved
    for answer in ('Approve this plan', 'Refuse it'):
        expect(screen.button(answer)).to_be_in_viewport(ratio=1.0, timeout=WAIT_MS)
    assert goal_of(console).stage not in ('executing', 'ended')  # nothing has moved


def the_motion_is_rehearsed_for_the_eye_before_it_is_approved(
    screen: Screen, console: OperatorConsole
) -> None:
    motion = rehearsal_of(console)
    screen.show('breaks a rule')
    screen.picture('console-refused')
    assert (motion.trouble, len(motion.plan)) == ('', 10)
    assert {posture.step for posture in motion.postures} == set(range(10))
    last = motion.postures[-1].blocks
    assert last['b1'].position[2] > last['b4'].position[2] > last['b3'].position[2]
    assert goal_of(console).stage not in ('executing', 'ended')
    screen.open('Approve')
    pending = console.state.snapshot.pending
    assert pending is not None
    screen.sees(f'Digest {pending.digest[:8]}')
    screen.top()
    screen.picture('console-approval')


def escape_stops_the_arm_in_the_middle_of_its_motion(
    screen: Screen, console: OperatorConsole
) -> None:
    before = console.state.snapshot.look.joints
    screen.click('Approve this plan')
    screen.sees('The arm executes step')
    wait_until(lambda: console.state.snapshot.look.joints != before, 'the motion of the arm')
    screen.page.keyboard.press('Escape')
    screen.sees('Everything is stopped')
    wait_until(lambda: not goal_of(console).running, 'the end of the goal')
    goal = goal_of(console)
    assert goal.code is ErrorCode.EXECUTION_STOPPED
    assert goal.step < len(goal.plan) == 10
    assert console.state.snapshot.stop.stopped
    screen.top()
    screen.picture('console-stopped')
    screen.page.get_by_text('Rule 1').first.scroll_into_view_if_needed()
    expect(screen.button('STOP')).to_be_in_viewport(ratio=1.0, timeout=WAIT_MS)


def a_reset_is_asked_about_before_it_is_done(screen: Screen, console: OperatorConsole) -> None:
    screen.click('Reset …')
    expect(screen.button('Stay stopped')).to_be_focused(timeout=WAIT_MS)
    screen.page.keyboard.press('Enter')
    expect(screen.button('Stay stopped')).to_have_count(0, timeout=WAIT_MS)
    assert console.state.snapshot.stop.stopped
    screen.click('Reset …')
    screen.click('The cell is clear: reset')
    wait_until(lambda: not console.state.snapshot.stop.stopped, 'the reset')
    expect(screen.button('Reset …')).to_have_count(0, timeout=WAIT_MS)


def a_text_that_cannot_be_read_is_shown_at_its_line_and_its_repair_is_executed(
    screen: Screen, console: OperatorConsole, script: Script
) -> None:
    wait_until(lambda: console.state.snapshot.up, 'the executor')
    screen.choose('Task from', 'PDDL or JSON text')
    screen.write('Text', TWO.replace('(on c1 c2)', '(on c1 x)'))
    screen.click('Read it')
    screen.sees('Line 3, column ')
    expect(screen.button('Plan, prove and execute')).to_be_disabled(timeout=WAIT_MS)
    screen.picture('console-error')
    screen.write('Text', TWO)
    screen.click('Read it')
    screen.sees('block c1 is on block c2')
    run = screen.button('Plan, prove and execute')
    expect(run).to_be_enabled(timeout=WAIT_MS)
    screen.write('Text', TWO.replace('(on c1 c2)', '(on c2 c1)'))
    expect(run).to_be_disabled(timeout=WAIT_MS)  # what is seen is not what was read
    screen.write('Text', TWO)
    screen.click('Read it')
    script.answers = [STEPS]
    screen.click('Plan, prove and execute')
    screen.click('Approve this plan')
    screen.sees('the goal was observed to hold')
    goal = goal_of(console)
    assert (goal.code, goal.step) == (ErrorCode.NONE, 2)
    wait_until(lambda: not console.busy, 'the record of the run')


def a_refused_plan_is_not_executed(
    screen: Screen, console: OperatorConsole, script: Script
) -> None:
    script.answers = [STEPS]
    screen.open('Task')
    screen.click('Plan, prove and execute')
    screen.sees('waits for you')
    screen.write('Reason', 'a hand is in the cell')
    screen.click('Refuse')
    screen.sees('refused the plan')
    goal = goal_of(console)
    assert goal.code is ErrorCode.APPROVAL_REFUSED
    assert 'a hand is in the cell' in goal.record.message
    wait_until(lambda: not console.busy, 'the record of the run')


def a_request_in_words_is_read_and_replanned(
    screen: Screen, console: OperatorConsole, script: Script, disturbances: Path
) -> None:
    script.answers = [data_path('examples/tower_order.pddl').read_text()]
    disturbances.write_text(json.dumps([['(stack b4 b3)', 'b4', '']]), encoding='utf-8')
    screen.open('Task')
    screen.choose('Task from', 'plain words')
    screen.write('In words', 'put b1 on b4 and b4 on b3')
    screen.click('What does that mean?')
    screen.sees('Your words were understood as this task:')
    script.answers = [SAFE, SAFE[SAFE.index('(pickup b4)') :]]
    screen.button('How it is planned').press('Enter')  # without a mouse
    screen.write('Replans', '1')
    screen.click('Plan, prove and execute')
    screen.click('Approve this plan')
    screen.sees('Replanned:')
    screen.click('Approve this plan')
    screen.sees('the goal was observed to hold')
    goal = goal_of(console)
    assert (goal.code, len(goal.record.replans), goal.ours) == (ErrorCode.NONE, 1, True)
    wait_until(lambda: not console.busy, 'the record of the run')


def a_goal_of_somebody_else_is_watched_and_why_it_is_planned_for_anew(
    screen: Screen, console: OperatorConsole, script: Script, disturbances: Path
) -> None:
    script.answers = ['(stack c1 c2)', STEPS, STEPS]
    disturbances.write_text(json.dumps([['(stack c1 c2)', 'c1', '']]), encoding='utf-8')
    with Client() as somebody:
        goal = somebody.start_run(TWO, options=Options(300.0, max_replans=1, approval=True))
        screen.sees('Attempt 1 was refused: step 1 of 1, “put c1 on c2”, is not possible')
        screen.sees('Attempt 2 is proved safe.')
        screen.click('Approve this plan')
        screen.sees('Replanned:')
        screen.sees('It should be so that block c1 is on block c2.')
        screen.sees('waits for you')
        wait_until(lambda: height_of(console, 'c1') < 0.02, 'the block where it was put')
        assert height_of(console, 'c2') < 0.02
        screen.open('Task')
        screen.sees('sent by another client')
        screen.open('Approve')
        screen.top()
        screen.picture('console-replan')
        screen.click('Approve this plan')
        result = goal.result()
    assert (result.error_code, result.steps_done) == (ErrorCode.NONE, 3)
    screen.sees('the goal was observed to hold')


def a_past_run_is_replayed_compared_downloaded_and_shared(
    screen: Screen, console: OperatorConsole
) -> None:
    screen.open('History')
    screen.write('Search', 'execution_stopped')
    screen.page.get_by_role('button', name='1', exact=True).click()
    screen.sees('0 of 10 steps: the start')
    screen.sees('are different from the first step on')
    slider = screen.page.get_by_role('slider').first
    slider.focus()
    slider.press('End')
    expect(screen.page.get_by_text(LATER).first).to_be_visible(timeout=WAIT_MS)
    screen.picture('console-history')
    with screen.page.expect_download() as saved:
        screen.click('Download the record')
    assert Path(saved.value.path()).read_bytes()[:2] == b'PK'
    with screen.page.expect_download() as shared:
        screen.click('Share as one HTML file')
    text = Path(shared.value.path()).read_text(encoding='utf-8')
    assert 'EXECUTION_STOPPED' in text
    screen.click('Close the run')
    expect(screen.button('Download the record')).to_have_count(0, timeout=WAIT_MS)


def the_page_asks_nobody_else_for_anything(screen: Screen, console: OperatorConsole) -> None:
    foreign = [url for url in screen.asked if not url.startswith((console.url, 'blob:', 'data:'))]
    assert foreign == []


def test_an_operator_asks_approves_stops_and_resets(
    screen: Screen, console: OperatorConsole, script: Script
) -> None:
    """One test, as each part begins where the one before has left the page."""
    a_rule_in_plain_words_is_shown_with_its_formula_before_it_is_added(screen)
    an_unsafe_attempt_is_refused_in_words_and_the_repaired_one_waits(screen, console, script)
    the_motion_is_rehearsed_for_the_eye_before_it_is_approved(screen, console)
    escape_stops_the_arm_in_the_middle_of_its_motion(screen, console)
    a_reset_is_asked_about_before_it_is_done(screen, console)
    the_page_asks_nobody_else_for_anything(screen, console)


@pytest.mark.nightly
def test_the_operator_goes_on_with_other_tasks_and_looks_back(
    screen: Screen, console: OperatorConsole, script: Script, disturbances: Path, fast: None
) -> None:
    a_text_that_cannot_be_read_is_shown_at_its_line_and_its_repair_is_executed(
        screen, console, script
    )
    a_refused_plan_is_not_executed(screen, console, script)
    a_request_in_words_is_read_and_replanned(screen, console, script, disturbances)
    a_goal_of_somebody_else_is_watched_and_why_it_is_planned_for_anew(
        screen, console, script, disturbances
    )
    a_past_run_is_replayed_compared_downloaded_and_shared(screen, console)
    the_page_asks_nobody_else_for_anything(screen, console)


@pytest.mark.nightly
def test_it_fits_on_a_tablet_in_the_dark(
    screen: Screen, console: OperatorConsole, opened: Browser
) -> None:
    screen.open('Stack')
    screen.sees('Diagnostics')
    page = opened.new_page(viewport={'width': TABLET[0], 'height': TABLET[1]})
    tablet = Screen(page, console.url)
    stop = tablet.button('STOP')
    box = stop.bounding_box()
    assert box is not None
    assert 0 <= box['x'] <= TABLET[0] - box['width']
    assert 0 <= box['y'] <= TABLET[1] / 2
    tablet.open('Stack')
    tablet.click('Dark or light page')
    expect(page.locator(DARK).first).to_be_attached(timeout=WAIT_MS)
    assert screen.page.locator(DARK).count() == 0
    screen.open('History')  # of this viewer alone
    tablet.sees('planner: ')
    tablet.picture('console-tablet')
    head = page.locator('.sg-head')  # the page forbids the eval of `wait_for_function`
    for width, height in ((390, 844), (844, 390)):  # a phone that is turned
        page.set_viewport_size({'width': width, 'height': height})
        wait_until(lambda: head.evaluate('(e) => e.clientWidth') > 340, 'the width of a phone')
    page.close()


@pytest.mark.nightly
def test_who_may_only_look_has_nothing_to_click(console: OperatorConsole, opened: Browser) -> None:
    with OperatorConsole(Settings(port=0, read_only=True)) as served:
        page = opened.new_page(viewport={'width': SIZE[0], 'height': SIZE[1]})
        page.set_default_timeout(WAIT_MS)
        page.goto(served.url)
        expect(page.get_by_text('View only')).to_be_visible(timeout=WAIT_MS)
        for name in ('STOP', 'Cancel the goal', 'Plan, prove and execute', 'Open the tool'):
            assert page.get_by_role('button', name=name).count() == 0, name
        assert page.get_by_label('Add a rule').count() == 0
        page.keyboard.press('Escape')
        known = re.compile('No goal was sent|sent by another client')  # from before it was opened
        page.get_by_role('button', name=named('Task')).click()
        expect(page.get_by_text(known)).to_be_visible(timeout=WAIT_MS)
        page.close()
    assert not console.state.snapshot.stop.stopped


@pytest.mark.nightly
@pytest.mark.skipif(not AXE.exists(), reason='axe-core is missing: run scripts/test_needs.sh')
@pytest.mark.parametrize('dark', [False, True])
def test_axe_finds_no_fault_on_any_card(screen: Screen, dark: bool) -> None:
    screen.open('Stack')
    if dark:
        screen.click('Dark or light page')
    screen.page.evaluate(AXE.read_text(encoding='utf-8'))
    for card in ('Task', 'Rules', 'Plan', 'Approve', 'Run', 'Done', 'Stack', 'History'):
        screen.open(card)
        screen.page.wait_for_timeout(500)  # for viser to show it
        assert screen.page.evaluate(FAULTS) == [], card
