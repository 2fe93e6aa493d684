# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The embedded model server: answers, limits, cancelling, and folders that are not right."""

from __future__ import annotations

import itertools
import json
import math
import runpy
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support import llm_small
from support.waiting import WAIT_S, wait_until

from safegen_ros.errors import BackendError, Canceled, ErrorCode
from safegen_ros.llm.backend import CallClock, Completion, Message, Sampling
from safegen_ros.llm.batching_backend import BatchingBackend
from safegen_ros.llm.model_folder import base_folder, load_model
from safegen_ros.llm.token_watch import TokenReader
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.tasks.pddl3.domains import builtin_domain_text
from safegen_ros.tasks.pddl3.prompts.styles import load_style, plan_syntax
from safegen_ros.tasks.pddl3.prompts.words import vocabulary
from safegen_ros.verify.admissible import Shield

TASK = 'domain blocksworld init on-table block1 on block2 block1 goal on block1 block2 constraints'
MESSAGES = [{'role': 'user', 'content': TASK}]
LONGER = [{'role': 'user', 'content': f'{TASK} sometime on block3 block1 always clear block2'}]
GREEDY = Sampling(temperature=0.0, max_new_tokens=24)


@pytest.fixture(scope='module')
def backend(tiny_model: Path) -> TransformersBackend:
    return TransformersBackend(tiny_model, 'cpu')


@pytest.fixture
def copy(tiny_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / 'model'))


def test_the_context_bounds_the_answer(backend: TransformersBackend) -> None:
    # With one legal token after another the tiny network rarely ends by itself.
    answers = [backend.generate(MESSAGES, Sampling(1.5, 1.0, 5000, seed)) for seed in range(3)]
    assert all(a.prompt_tokens + a.completion_tokens <= backend.context for a in answers)
    long = [{'role': 'user', 'content': 'clear block1 ' * 300}]
    with pytest.raises(BackendError, match='context is 512'):
        backend.generate(long, GREEDY)


def test_adapters_become_one_folder_that_answers_alike(adapters: Path, tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / 'scripts/merge_adapters.py'
    runpy.run_path(str(script))['merge'](adapters, tmp_path / 'one')
    both, one = (TransformersBackend(each, 'cpu') for each in (adapters, tmp_path / 'one'))
    assert both.generate(MESSAGES, GREEDY).text == one.generate(MESSAGES, GREEDY).text


def test_adapters_find_the_base_that_they_were_trained_on(
    adapters: Path, word_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr('safegen_ros.llm.model_folder.BASES', tmp_path)
    assert base_folder(adapters) == word_folder
    settings = adapters / 'adapter_config.json'
    values = {**json.loads(settings.read_text()), 'base_model_name_or_path': 'gone/away'}
    settings.write_text(json.dumps(values))
    with pytest.raises(BackendError, match=r'adapters of away, .* run make base'):
        base_folder(adapters)


def test_ranks_of_a_second_training_come_behind_the_first_and_off_again(
    adapters: Path, tmp_path: Path
) -> None:
    script = runpy.run_path(str(Path(__file__).parents[2] / 'scripts/merge_adapters.py'))
    ranks = json.loads((adapters / 'adapter_config.json').read_text())['r']
    script['join'](adapters, 0, adapters, tmp_path / 'twice')
    script['join'](tmp_path / 'twice', ranks, None, tmp_path / 'first')
    base, first, once, twice = (
        load_model(each, {}).state_dict()
        for each in (base_folder(adapters), tmp_path / 'first', adapters, tmp_path / 'twice')
    )
    settings = tmp_path / 'first/adapter_config.json'
    settings.write_text(json.dumps({**json.loads(settings.read_text()), 'lora_alpha': 1}))
    with pytest.raises(SystemExit, match='lora_alpha / r'):
        script['join'](adapters, 0, tmp_path / 'first', tmp_path / 'other')
    changed = 0
    for name, weight in base.items():
        torch.testing.assert_close(first[name], once[name], rtol=0, atol=0)
        torch.testing.assert_close(twice[name] - weight, 2 * (once[name] - weight))
        changed += not torch.equal(once[name], weight)
    assert changed


def test_a_token_is_read_once_whatever_the_folder_says(
    tiny_model: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads((copy / 'config.json').read_text())
    (copy / 'config.json').write_text(json.dumps({**config, 'use_cache': False}))
    (copy / 'generation_config.json').write_text('{"use_cache": false}')
    backend = TransformersBackend(copy, 'cpu')
    read: list[int] = []
    forward = backend.model.forward
    monkeypatch.setattr(
        backend.model,
        'forward',
        lambda *args, **more: read.append(more['input_ids'].shape[1]) or forward(*args, **more),
    )
    answer = backend.generate(LONGER, GREEDY)
    assert read == [22] + [1] * (answer.completion_tokens - 1)
    assert answer.completion_tokens > 1


def test_words_outside_the_vocabulary_are_refused(backend: TransformersBackend) -> None:
    with pytest.raises(BackendError, match=r'name a chat model, or .*prompt_style'):
        backend.generate([{'role': 'user', 'content': 'Please stack the blocks.'}], GREEDY)


def test_characters_of_several_bytes_come_whole() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    text = 'Stapel: b1 → b2, 积木 🙂 fertig'
    bytes_only = Tokenizer(models.BPE())
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_only.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bytes_only.train_from_iterator([], trainers.BpeTrainer(initial_alphabet=alphabet))
    ids = bytes_only.encode(text).ids
    assert len(ids) == len(text.encode())  # a token is a byte

    reader = TokenReader(bytes_only.decode, (), ())
    pieces = [reader.feed(token) for token in ids]
    assert [piece for piece in pieces if piece] == list(text)
    assert reader.finish() == ''

    cut_off = TokenReader(bytes_only.decode, (), ())
    arrow = text[: text.index('→') + 1]
    for token in ids[: len(arrow.encode()) - 1]:
        cut_off.feed(token)
    cut_off.finish()
    assert cut_off.text == f'{arrow[:-1]}\ufffd'

    stopped = TokenReader(bytes_only.decode, (), ('积',))
    for token in ids:
        stopped.feed(token)
    assert stopped.text == text[: text.index('积')]
    assert stopped.tokens == len(text[: text.index('积') + 1].encode())


def test_each_row_of_a_batch_ends_at_its_own_stop_string(backend: TransformersBackend) -> None:
    drawn = Sampling(1.0, 1.0, 24, seed=2)
    whole = [c.text.split() for c in backend.generate_batch([MESSAGES, LONGER], drawn)]
    stop = f'{whole[1][4]} {whole[1][5]}'
    sampling = Sampling(1.0, 1.0, 24, seed=2, stop=(stop,))
    answers = backend.generate_batch([MESSAGES, LONGER], sampling)
    assert [c.text.split() for c in answers] == [whole[0], whole[1][:4]]
    assert answers[1].finish_reason == 'stop'


@pytest.mark.parametrize('architecture', ['Qwen3', 'Mistral'])
def test_other_architectures_go_through_the_same_code(copy: Path, architecture: str) -> None:
    import transformers

    config = getattr(transformers, f'{architecture}Config')(
        vocab_size=len(vocabulary()), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, max_position_embeddings=256,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, sliding_window=None,
    )  # fmt: skip
    model = getattr(transformers, f'{architecture}ForCausalLM')(config)
    (copy / 'model.safetensors').unlink()
    model.save_pretrained(copy)
    other = TransformersBackend(copy, 'cpu')
    assert type(other.model).__name__ == f'{architecture}ForCausalLM'
    assert other.generate(MESSAGES, GREEDY).prompt_tokens == 15


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def configured(**values: int) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / 'config.json').read_text())
        (folder / 'config.json').write_text(json.dumps({**config, **values}))

    return change


def cut(folder: Path) -> None:
    weights = folder / 'model.safetensors'
    weights.write_bytes(weights.read_bytes()[:1000])


@pytest.mark.parametrize(
    ('spoil', 'message'),
    [
        (shutil.rmtree, 'no such model folder'),
        (without('config.json'), 'config.json'),
        (without('tokenizer_config.json'), 'tokenizer_config.json'),
        (without('model.safetensors'), r'\*.safetensors'),
        (without('chat_template.jinja'), 'chat template'),  # none is guessed
        (configured(intermediate_size=80), '/model: '),
        (configured(num_hidden_layers=2), 'missing_keys'),
        (cut, 'cannot be loaded'),
    ],
)
def test_a_folder_that_is_not_right(
    copy: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(copy)
    with pytest.raises(BackendError, match=message):
        TransformersBackend(copy)


def test_a_gpu_that_is_not_there(tiny_model: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip('this machine has a GPU')
    with pytest.raises(BackendError, match='needs a GPU'):
        TransformersBackend(tiny_model, 'cuda')


DRAWN = Sampling(1.0, 1.0, 24, seed=5)
ENDLESS = Sampling(1.5, 1.0, 400, seed=1)


def asking(words: int = 0) -> list[dict[str, str]]:
    """A conversation; with more words, a longer one."""
    return [{'role': 'user', 'content': ' '.join([TASK, *['block3'] * words])}]


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return llm_small.word_model(tmp_path_factory.mktemp('words'), seed=1)


@pytest.fixture(scope='module')
def plain(folder: Path) -> TransformersBackend:
    return TransformersBackend(folder, 'cpu')


@pytest.fixture
def make(folder: Path) -> Iterator[Callable[..., BatchingBackend]]:
    opened: list[BatchingBackend] = []

    def new(**limits: int) -> BatchingBackend:
        opened.append(BatchingBackend(folder, 'cpu', **limits))
        return opened[-1]

    yield new
    for backend in opened:
        backend.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


@contextmanager
def held(backend: BatchingBackend) -> Iterator[None]:
    """Keeps the model, so that every call has to wait."""
    with backend.turn(CallClock('test', Sampling(), lambda: False)):
        yield


def line_up(backend: BatchingBackend, sent: Callable[[], Future[Any]]) -> Future[Any]:
    """Begins a call and returns once it waits."""
    before = backend.open_calls
    future = sent()
    wait_until(lambda: backend.open_calls > before, 'the call waits')
    return future


def hold(backend: BatchingBackend, call: int, until: Callable[[], bool]) -> None:
    """Keeps the model from being called so many times before a condition holds."""
    calls = itertools.count(1)

    def pause(*_: Any) -> None:
        if next(calls) == call:
            wait_until(until, f'what call {call} of the model waits for')

    backend.model.register_forward_pre_hook(pause)


def written(backend: BatchingBackend, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The lengths of the prompts of every batch that is written from now on."""
    batches: list[list[int]] = []
    generate = backend.model.generate

    def spy(**settings: Any) -> Any:
        batches.append(settings['attention_mask'].sum(-1).tolist())
        return generate(**settings)

    monkeypatch.setattr(backend.model, 'generate', spy)
    return batches


def test_an_answer_is_the_same_alone_and_in_a_batch(
    plain: TransformersBackend,
    make: Callable[..., BatchingBackend],
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = [
        (asking(), DRAWN),
        (asking(), replace(DRAWN, seed=6)),
        (asking(9), replace(DRAWN, top_p=0.9, temperature=0.6, max_new_tokens=40)),
        (asking(3), replace(DRAWN, temperature=0.0, max_new_tokens=5)),
        (asking(3), replace(DRAWN, temperature=0.7)),
        (asking(200), replace(ENDLESS, max_new_tokens=60)),
    ]
    alone = [plain.generate(*ask) for ask in asked]
    assert len({answer.text for answer in alone}) == len(alone)
    stop = ' '.join(alone[1].text.split()[3:5])
    asked[1] = (asked[1][0], replace(asked[1][1], stop=(stop,)))
    alone[1] = plain.generate(*asked[1])
    assert alone[1].finish_reason == 'stop'
    backend = make(batch=8)
    batches = written(backend, monkeypatch)
    with held(backend):
        sent = [
            line_up(backend, lambda ask=ask: threads.submit(backend.generate, *ask))
            for ask in asked
        ]
    together = [future.result(WAIT_S) for future in sent]
    assert len(batches[0]) == len(asked)
    untold: dict[str, Any] = {'seconds': 0, 'first_token_s': 0, 'probability': None}
    for one, other in zip(alone, together, strict=True):
        assert replace(one, **untold) == replace(other, **untold)
    # Drawn, the most likely, and one that has no end.
    for place in (0, 3, 5):
        likely = probability(plain, asked[place][0], together[place])
        assert together[place].probability == pytest.approx(likely, rel=1e-3)
        assert alone[place].probability == pytest.approx(likely, rel=1e-3)
    assert together[1].probability is alone[1].probability is None  # as a stop string ended it
    pair = plain.generate_batch([asked[3][0], asked[2][0]], asked[3][1])
    assert pair[0].probability == pytest.approx(alone[3].probability, rel=1e-3)


def probability(
    backend: TransformersBackend, asked: Sequence[Message], answer: Completion
) -> float:
    """Of the tokens of an answer, in one pass of the model."""
    prompt, ids = backend.prompt(asked), backend.tokens(answer.text)
    ids += sorted(backend.ends)[: answer.completion_tokens - len(ids)]
    with torch.inference_mode():
        scores = backend.model(input_ids=torch.tensor([prompt + ids])).logits[0].log_softmax(-1)
    behind = range(len(prompt) - 1, len(prompt) + len(ids) - 1)
    return math.exp(sum(float(scores[at, token]) for at, token in zip(behind, ids, strict=True)))


def test_a_long_prompt_beside_it_cuts_no_answer(
    plain: TransformersBackend, make: Callable[..., BatchingBackend], threads: ThreadPoolExecutor
) -> None:
    asked = [(asking(), ENDLESS), (asking(460), ENDLESS)]
    alone = [plain.generate(*ask).text for ask in asked]
    assert len(alone[0].split()) > plain.context - len(plain.prompt(asking(460)))
    backend = make()
    with held(backend):
        sent = [
            line_up(backend, lambda ask=ask: threads.submit(backend.generate, *ask))
            for ask in asked
        ]
    assert [future.result(WAIT_S).text for future in sent] == alone


def test_who_comes_later_joins_the_answers_that_are_being_written(
    plain: TransformersBackend,
    make: Callable[..., BatchingBackend],
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = make(batch=2)
    batches = written(backend, monkeypatch)
    late: list[Future[Any]] = []
    pieces: list[str] = []
    over = threading.Event()
    # Without these the long answer may be whole before the other call is heard of, or its end.
    hold(backend, 20, lambda: bool(late))
    hold(backend, 100, over.is_set)

    def listen(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) == 5:
            late.append(
                line_up(backend, lambda: threads.submit(backend.generate, asking(3), DRAWN))
            )

    with pytest.raises(Canceled):  # once the other one has its answer
        backend.generate(asking(), ENDLESS, lambda: bool(late) and late[0].done(), listen)
    over.set()
    assert late[0].result(WAIT_S).text == plain.generate(asking(3), DRAWN).text
    assert [len(batch) for batch in batches[:2]] == [1, 2]
    assert plain.generate(asking(), ENDLESS).text.startswith(''.join(pieces))


def test_calls_are_taken_in_their_order(
    make: Callable[..., BatchingBackend],
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = make(batch=2)
    batches = written(backend, monkeypatch)
    short = replace(DRAWN, max_new_tokens=1)
    with held(backend):
        sent = [
            line_up(
                backend, lambda words=words: threads.submit(backend.generate, asking(words), short)
            )
            for words in (5, 1, 4, 2, 3)
        ]
    for future in sent:
        future.result(WAIT_S)
    lengths = [len(backend.prompt(asking(words))) for words in (5, 1, 4, 2, 3)]
    assert batches == [lengths[:2], lengths[2:4], lengths[4:]]


def test_waiting_calls_can_be_cancelled_and_run_out_of_time(
    make: Callable[..., BatchingBackend], threads: ThreadPoolExecutor
) -> None:
    backend, cancel = make(), threading.Event()
    with held(backend):
        cancelled = line_up(
            backend, lambda: threads.submit(backend.generate, asking(), DRAWN, cancel.is_set)
        )
        late = replace(DRAWN, time_limit_s=0.05)
        with pytest.raises(BackendError, match=r'did not finish within 0\.05 s'):
            backend.generate(asking(), late)
        assert not cancelled.done()
        cancel.set()
        with pytest.raises(Canceled):
            cancelled.result(WAIT_S)
        assert backend.open_calls == 0


def test_what_one_caller_does_ends_no_other_answer(
    plain: TransformersBackend, make: Callable[..., BatchingBackend], threads: ThreadPoolExecutor
) -> None:
    backend = make()
    pieces: list[str] = []

    def broken(piece: str) -> None:
        raise ArithmeticError('the listener is broken')

    with held(backend):
        cancelled = line_up(
            backend,
            lambda: threads.submit(
                backend.generate, asking(), ENDLESS, lambda: len(pieces) > 1, pieces.append
            ),
        )
        failed = line_up(
            backend,
            lambda: threads.submit(backend.generate, asking(), DRAWN, lambda: False, broken),
        )
        other = line_up(backend, lambda: threads.submit(backend.generate, asking(3), DRAWN))
    with pytest.raises(Canceled):
        cancelled.result(WAIT_S)
    with pytest.raises(ArithmeticError):
        failed.result(WAIT_S)
    assert other.result(WAIT_S).text == plain.generate(asking(3), DRAWN).text
    assert backend.open_calls == 0


def test_a_row_that_the_model_cannot_write_fails_alone(
    plain: TransformersBackend,
    make: Callable[..., BatchingBackend],
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = make()
    generate, bad = backend.model.generate, len(backend.prompt(asking(7)))

    def picky(**settings: Any) -> Any:
        if bad in settings['attention_mask'].sum(-1):
            raise RuntimeError('out of memory')
        return generate(**settings)

    monkeypatch.setattr(backend.model, 'generate', picky)

    def refuses(ids: Any, scores: Any) -> Any:
        raise LookupError('no step is admissible')

    with held(backend):
        sent = [
            line_up(
                backend, lambda words=words: threads.submit(backend.generate, asking(words), DRAWN)
            )
            for words in (3, 7, 9)
        ]
        guided = line_up(
            backend,
            lambda: threads.submit(
                backend.write, backend.prompt(asking()), DRAWN, logits_processor=[refuses]
            ),
        )
    with pytest.raises(BackendError, match='the model failed: out of memory'):
        sent[1].result(WAIT_S)
    with pytest.raises(LookupError):
        guided.result(WAIT_S)
    for future, words in ((sent[0], 3), (sent[2], 9)):
        assert future.result(WAIT_S).text == plain.generate(asking(words), DRAWN).text


def test_one_call_too_many_is_refused_by_name(
    make: Callable[..., BatchingBackend], threads: ThreadPoolExecutor
) -> None:
    backend = make(batch=1, waiting=1)
    with held(backend):
        sent = [
            line_up(backend, lambda: threads.submit(backend.generate, asking(), DRAWN))
            for _ in range(2)
        ]
        with pytest.raises(BackendError, match='2 calls are open') as caught:
            backend.generate(asking(), DRAWN)
        assert caught.value.code is ErrorCode.QUEUE_FULL
    assert len({future.result(WAIT_S).text for future in sent}) == 1
    assert backend.generate(asking(), DRAWN).text == sent[0].result().text


def test_closing_ends_calls_that_wait_and_calls_that_are_answered(
    make: Callable[..., BatchingBackend], threads: ThreadPoolExecutor
) -> None:
    waits, answers, begun = make(), make(batch=1), threading.Event()
    with held(waits):
        ended = [
            line_up(waits, lambda: threads.submit(waits.generate, asking(), DRAWN))
            for _ in range(2)
        ]
        waits.close()
        for future in ended:
            with pytest.raises(BackendError, match='the model was closed'):
                future.result(WAIT_S)

    def long() -> Any:
        return answers.generate(asking(), ENDLESS, on_text=lambda piece: begun.set())

    hold(answers, 20, lambda: answers._worker.closed)  # else it may be whole before
    ended = [threads.submit(long), threads.submit(long)]
    assert begun.wait(WAIT_S)
    answers.close()
    for future in ended:
        with pytest.raises(BackendError, match='the model was closed'):
            future.result(WAIT_S)
    for on_text in (None, print):
        with pytest.raises(BackendError, match='the model was closed'):
            answers.generate(asking(), DRAWN, on_text=on_text)
    answers.close()


def test_shielded_plans_of_several_problems_share_a_batch(
    folder: Path,
    plain: TransformersBackend,
    make: Callable[..., BatchingBackend],
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    style, domain = load_style(folder), read_domain(builtin_domain_text('blocksworld'))
    problems = [
        read_problem(
            '(define (problem towers) (:domain blocksworld) (:objects a b c) (:init (arm-empty)'
            ' (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c))'
            f'(:goal (on {goal})))',
            domain,
        )
        for goal in ('a b', 'b c', 'c a')
    ]

    def guides(backend: TransformersBackend) -> list[Any]:
        return [
            backend.guide(style.messages(p, []), Shield(p), plan_syntax(style, p)) for p in problems
        ]

    alone = [guide.shielded(replace(DRAWN, seed=i)) for i, guide in enumerate(guides(plain))]
    assert len(set(alone)) == len(alone)
    backend = make()
    batches = written(backend, monkeypatch)
    with held(backend):
        sent = [
            line_up(
                backend,
                lambda i=i, guide=guide: threads.submit(guide.shielded, replace(DRAWN, seed=i)),
            )
            for i, guide in enumerate(guides(backend))
        ]
    assert [future.result(WAIT_S) for future in sent] == alone
    assert len(batches[0]) == len(problems)


@pytest.mark.parametrize('limits', [{'batch': 0}, {'waiting': -1}])
def test_limits_that_are_none(folder: Path, limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match='expected'):
        BatchingBackend(folder, 'cpu', **limits)
