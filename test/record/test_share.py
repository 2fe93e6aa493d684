# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One run as one page: all of it is told, nothing in it acts, and it needs no network."""

from __future__ import annotations

import dataclasses
import html
import os
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kept_runs import PLAN, keep_run, kept_folder

import safegen_ros
from safegen_ros.cli.display import print_fact
from safegen_ros.cli.kept_runs import write_share
from safegen_ros.errors import ErrorCode, RecordError, SafegenError
from safegen_ros.record import events
from safegen_ros.record import run as records
from safegen_ros.record.journal import JOURNAL
from safegen_ros.record.present import share
from safegen_ros.record.present.html import LONGEST, PRESENT, environment, part, upto
from safegen_ros.record.present.report import summary
from safegen_ros.record.present.share import share_html
from safegen_ros.record.present.telling import RunFact
from safegen_ros.record.run_log import KeptRun, RunState, load_run
from safegen_ros.record.signatures import ApprovalRecord
from safegen_ros.schema import plain
from safegen_ros.terminal import Console
from safegen_ros.untrusted import visible
from safegen_ros.verdict import BrokenConstraint, Category, Verdict

CHROMIUM = Path('/usr/bin/chromium')
EVIL = '"\'><script>boom()</script><img src=x onerror=boom()></style></pre><!--\u202e\x00\ud800'
ACTIVE = {
    'script', 'iframe', 'object', 'embed', 'form', 'link', 'base', 'a', 'img', 'foreignobject',
}  # fmt: skip
VOID = {'meta', 'br', 'input'}


class Page(HTMLParser):
    """What a page is made of; it must be closed as it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ''
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ('style', 'script'):
            self.text += data


def _check(html: str) -> Page:
    """Holds of every page, whatever is in the run."""
    html.encode()
    page = Page(html)
    assert page.tags['script'] == 1  # ours
    assert not {tag for tag in page.tags if tag in ACTIVE} - {'script'}
    for name, value in page.attributes:
        assert not name.startswith('on')
        assert name not in ('href', 'srcdoc', 'style', 'action', 'formaction')
        assert name != 'src' or (value or '').startswith('data:video/mp4;base64,')
    assert "default-src 'none'" in html
    return page


def _run(tmp_path: Path) -> tuple[Path, KeptRun]:
    folder = kept_folder(tmp_path)
    keep_run(folder)
    return folder, load_run(folder)


def test_the_page_tells_the_whole_run(tmp_path: Path) -> None:
    folder, kept = _run(tmp_path)
    page = _check(share_html(folder, kept))
    for words in (
        '✓ Done: two',
        '2 attempts were refused before anything moved (not a plan, breaks a rule).',
        'A plan of 2 steps by search was proved safe.',
        'A symbolic cell, in which nothing moves, executed 2 of 2 steps.',
        'The world at the end, looked at once more, reaches the goal.',
        'block a is on block b'.replace(' a ', ' "a" '),
        '(always (not (on b a)))',
        'Attempt 2 by model: ✕ breaks a rule',
        'step 2 of 4, “put b on a”, breaks the rule',
        'put b on a — here it fails',
        'Where it fails: step 2',
        'What changed since attempt 2',
        'Attempt 3 by search: ✓ proved safe',
        'after step 2: put a on b (observed, seen after 2.0 s)',
        'Step 1 begins: pick up a from the table.',
        '(on a b) holds ✓',
        'models/tiny'.rpartition('/')[2],
        JOURNAL,
    ):
        assert words in page.text, words


def test_hostile_text_in_every_field_is_only_shown(tmp_path: Path) -> None:
    folder, kept = _run(tmp_path)
    broken = BrokenConstraint(EVIL, ((EVIL, EVIL),), 1, 0, EVIL, EVIL)
    verdicts = [Verdict(category, EVIL, 0, 1, 0.5, (broken,), (EVIL,), 1) for category in Category]
    attempts = tuple(
        records.AttemptRecord(number, EVIL, EVIL, steps, verdict, 0.1, replan=replan)
        for number, verdict in enumerate(verdicts, 1)
        for steps in (PLAN, (EVIL,))
        for replan in (0, 1)
    )
    record = dataclasses.replace(
        kept.record,
        run_id=EVIL, started=EVIL, attempts=attempts, plan=(*PLAN, EVIL), plan_source=EVIL,
        verdict=Verdict(Category.SUCCESS, EVIL), steps=(records.StepRecord(0, EVIL, 0.0, 1.0),),
        worlds=(records.WorldRecord(1, (EVIL, f'({EVIL})')),),
        goal=(records.GoalRecord(EVIL, False),), reached=False, cell=EVIL,
        error_code=ErrorCode.ROBOT_FAULT, message=EVIL,
        model=records.ModelRecord(EVIL, 1, 0.5, 0.5, 1, True), timings={EVIL: 1.0},
        versions={EVIL: EVIL}, artefacts=(records.ArtefactRecord(EVIL, EVIL, EVIL),),
        approved_by=EVIL, replans=(records.ReplanRecord(1, EVIL, 0, '', EVIL),),
        answers=(records.AnswerRecord(1, 1, EVIL, EVIL),),
        understood=records.UnderstoodRecord(EVIL, EVIL, EVIL, EVIL, EVIL, EVIL),
    )  # fmt: skip
    evil_task = records.TaskRecord(
        EVIL, EVIL, EVIL, EVIL, EVIL, EVIL, EVIL, (EVIL, EVIL), EVIL, EVIL
    )
    told = (
        events.TaskEvent(EVIL, kept.record.started, evil_task, EVIL, site=EVIL),
        events.StackEvent(records.ModelRecord(EVIL, 1, 0.5, 0.5, 1, True), EVIL),
        records.AnswerRecord(1, 1, EVIL, EVIL), records.UnderstoodRecord(question=EVIL),
        attempts[0], events.PassedEvent(EVIL), events.UnboundEvent((EVIL,)),
        records.ReplanRecord(1, EVIL, 1, EVIL, EVIL), events.PlanEvent((EVIL,), EVIL),
        ApprovalRecord(True, EVIL, EVIL, EVIL, EVIL), events.StopEvent(True, EVIL, EVIL),
        records.ReleaseRecord('failed', EVIL, EVIL), events.PhaseEvent(EVIL, 0.0, EVIL),
        events.StepEvent(0, EVIL, 0.0, EVIL),
        events.ObservedEvent(1, 0.0, (EVIL,), (EVIL,), EVIL, EVIL),
        events.ResultEvent((EVIL,), EVIL, Verdict(), 1, approved_by=EVIL),
        events.EndEvent(ErrorCode.ROBOT_FAULT, EVIL),
    )  # fmt: skip
    first = kept.entries[0]
    entries = tuple(
        dataclasses.replace(first, number=number, kind=events.KINDS[type(event)], data=plain(event))
        for number, event in enumerate(told)
    )
    for task in (kept.record.task, evil_task):
        for state in RunState:
            evil = KeptRun(dataclasses.replace(record, task=task), entries, state)
            html = share_html(folder, evil)
            _check(html)
            assert '<script>boom' not in html
            assert '⟨U+202E⟩' in html


def test_a_video_is_inside_where_it_is_small_and_named_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, kept = _run(tmp_path)
    (folder / 'twin.mp4').write_bytes(b'\0' * 1000)
    page = _check(share_html(folder, kept))
    assert page.tags['video'] == 1
    monkeypatch.setattr(share, 'MAX_VIDEO', 999)
    page = _check(share_html(folder, kept))
    assert page.tags['video'] == 0
    assert 'twin.mp4 has 0 MB, which is too much for this page' in page.text


def test_a_file_that_a_link_leads_to_is_not_read(tmp_path: Path) -> None:
    folder, kept = _run(tmp_path)
    secret = tmp_path / 'secret.mp4'
    secret.write_bytes(b'secret')
    (folder / 'twin.mp4').symlink_to(secret)
    (folder / 'more').symlink_to(tmp_path)
    html = share_html(folder, kept)
    assert Page(html).tags['video'] == 0
    assert 'secret' not in html


@pytest.mark.nightly
def test_a_run_of_very_many_attempts_is_cut_to_what_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, kept = _run(tmp_path)
    unsafe = kept.record.attempts[1]
    attempts = tuple(dataclasses.replace(unsafe, number=n) for n in range(1, 201))
    many = dataclasses.replace(kept, record=dataclasses.replace(kept.record, attempts=attempts))
    html = share_html(folder, many)
    assert '170 more attempts are in the journal.' in html
    monkeypatch.setattr(share, 'MAX_PAGE', len(html) - 1)
    assert '192 more attempts are in the journal.' in share_html(folder, many)
    monkeypatch.setattr(share, 'MAX_PAGE', 1000)
    with pytest.raises(RecordError, match='send the folder itself'):
        share_html(folder, many)


def test_a_run_that_is_cut_off_or_has_no_plan_is_told_as_such(tmp_path: Path) -> None:
    folder, kept = _run(tmp_path)
    record = dataclasses.replace(
        kept.record, attempts=(), plan=(), plan_source='', verdict=Verdict(), steps=(),
        steps_done=0, worlds=(), goal=(), reached=None, error_code=ErrorCode.UNKNOWN,
    )  # fmt: skip
    page = _check(share_html(folder, KeptRun(record, kept.entries, RunState.CUT_OFF)))
    for words in ('✕ Not done', 'No plan was tried.', 'nothing moved', 'without a result'):
        assert words in page.text
    page = _check(share_html(folder, KeptRun(record, kept.entries, RunState.RUNNING)))
    assert '… Running' in page.text
    lost = dataclasses.replace(record, task=dataclasses.replace(record.task, problem='(define'))
    page = _check(share_html(folder, KeptRun(lost, kept.entries, RunState.ENDED)))
    assert 'This task can no longer be read' in page.text


def test_a_request_that_was_not_understood_has_no_empty_name(tmp_path: Path) -> None:
    record = _run(tmp_path)[1].record
    told = dict(
        summary(
            dataclasses.replace(
                record, task=dataclasses.replace(record.task, name='', domain_name='')
            )
        )
    )
    assert told['Task'].startswith('without a name from ')
    assert 'Domain' not in told


def test_every_line_of_a_fact_is_indented() -> None:
    output = StringIO()
    print_fact(Console(file=output), RunFact('read as\na', details=('b\nc',)))
    assert output.getvalue() == '  read as\n  a\n    b\n    c\n'


@pytest.mark.parametrize(('terminal', 'lines'), [(True, 3), (False, 1)])
def test_a_long_fact_is_folded_on_a_terminal_only(terminal: bool, lines: int) -> None:
    output = StringIO()
    print_fact(Console(file=output, width=80, force_terminal=terminal), RunFact('word ' * 40))
    assert len(output.getvalue().splitlines()) == lines


def test_a_page_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    folder, kept = _run(tmp_path)
    with pytest.raises(SafegenError, match='name another file with -o'):
        write_share(folder, kept, tmp_path / 'none' / 'a.html')
    write_share(folder, kept, tmp_path / 'a.html')
    _check((tmp_path / 'a.html').read_text(encoding='utf-8'))


@pytest.mark.nightly
def test_a_browser_shows_it_with_and_without_its_script(tmp_path: Path) -> None:
    if not CHROMIUM.exists():
        pytest.skip('NO BROWSER: the shared page was not looked at: apt-get install chromium')
    folder, kept = _run(tmp_path)
    write_share(folder, kept, tmp_path / 'run.html')
    page = tmp_path / 'run.html'
    dom = _dumped(page, tmp_path)
    assert 'class="film one"' in dom  # the script has run: its digest is in the policy
    assert 'aria-valuetext="the start' in dom
    assert '<output>0 of 2</output>' in dom
    evil = page.read_text(encoding='utf-8').replace(
        '</main>', '<script>document.title=1</script></main>'
    )
    page.write_text(evil, encoding='utf-8')
    assert '<title>1</title>' not in _dumped(page, tmp_path)  # no other script may run


def _dumped(page: Path, tmp_path: Path) -> str:
    """What a browser makes of a page."""
    done = subprocess.run(
        [
            os.fspath(CHROMIUM), '--headless=new', '--no-sandbox', '--disable-gpu',
            '--disable-background-networking', '--disable-sync', '--disable-component-update',
            '--no-first-run', '--virtual-time-budget=2000', f'--user-data-dir={tmp_path}/profile',
            '--dump-dom', page.as_uri(),
        ],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    shutil.rmtree(tmp_path / 'profile', ignore_errors=True)
    return done.stdout


HOSTILE = (
    '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "' onload='x", '</style><b>',
    '</textarea>', '<!--', ']]>', '&lt;', '\u202egnp.exe', '\x00\x1b[31m', 'a\u200bb', '\ud800',
    'javascript:alert(1)', '{{7*7}}', '\u2028',
)  # fmt: skip
TEMPLATES = sorted(Path(safegen_ros.__file__).parent.rglob('templates/*.html'))


@given(st.text(max_size=LONGEST) | st.sampled_from(HOSTILE))
def test_a_text_stays_a_text_between_tags_and_in_an_attribute(text: str) -> None:
    told = environment(PRESENT).from_string('<p title="{{ text }}">{{ text }}</p>')
    found = re.fullmatch(r'<p title="([^"<>]*)">([^<>]*)</p>', told.render(text=text))
    assert found is not None
    assert html.unescape(found[1]) == html.unescape(found[2]) == visible(text)
    found[0].encode()  # no surrogate is left


def test_what_a_template_has_drawn_goes_into_another_one_as_it_is() -> None:
    inner = part('note', '<b>')
    assert '<p>&lt;b&gt;</p>' in part('pair', [inner])
    assert '&lt;p&gt;' in part('pair', [str(inner) + ''])


def test_a_long_text_is_cut_and_says_so() -> None:
    assert upto('x' * 50, 10) == f'{"x" * 10} … (40 more characters)'
    assert '(6,000 more characters)' in part('note', 'x' * 10_000)


def test_numbers_are_short() -> None:
    assert 'x1="0.33"' in part('line', 1 / 3, 2.0, 0.0, 0.0)
    assert 'y1="2"' in part('line', 1 / 3, 2.0, 0.0, 0.0)


@pytest.mark.parametrize('path', TEMPLATES, ids=lambda path: path.name)
def test_no_page_lets_a_text_through_unescaped(path: Path) -> None:
    assert not re.search(r'\|\s*safe\b|autoescape', path.read_text(encoding='utf-8'))
