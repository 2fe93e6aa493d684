# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Models that cannot be opened say why, and nothing heavy is imported before one is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from safegen_ros.bringup.table import node_specs
from safegen_ros.errors import BackendError, BringupError
from safegen_ros.llm.backend import Backend, Cancelled, Completion, Message, Sampling
from safegen_ros.llm.model_folder import four_bits, nf4
from safegen_ros.llm.model_names import model_folder, named_model
from safegen_ros.llm.open_backend import _OPENERS, open_backend
from safegen_ros.llm.openai_backend import OpenAIBackend
from safegen_ros.llm.vllm_backend import VllmBackend
from safegen_ros.paths import DataNotFoundError, install


@pytest.mark.parametrize(
    ('spec', 'said'),
    [
        ('file:///etc/passwd#m', 'no address of a model server'),
        ('ftp://host/v1#m', 'no address of a model server'),
        ('http:///v1#m', 'no address of a model server'),
        ('http://host:port/v1#m', 'wrong'),
        ('http://[::1/v1#m', 'wrong'),
        ('http://user:secret@host/v1#m', 'holds a name or a password'),
        ('http://user:secret@host/v1', 'the model is missing'),
        ('http://127.0.0.1:8000', 'the model is missing: .*, as in http://127.0.0.1:8000/v1#NAME'),
        ('http://127.0.0.1:8000/v1#', 'the model is missing'),
        ('nowhere', 'no such model folder'),
        ('vllm:nowhere', 'no such model folder'),
        ('x' * 5000, 'no such model folder'),
        ('a\0b', 'no such model folder'),
    ],
)
def test_names_of_models_that_cannot_be_opened(spec: str, said: str) -> None:
    with pytest.raises(BackendError, match=said) as caught:
        open_backend(spec)
    assert 'secret' not in caught.value.message


def test_what_is_not_installed_is_named(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'vllm', None)
    monkeypatch.setitem(sys.modules, 'openai', None)
    with pytest.raises(BackendError, match=re.escape(f'{install("vllm")} on a machine with a GPU')):
        VllmBackend(tiny_model)
    with pytest.raises(BackendError, match=re.escape(install('llm'))):
        OpenAIBackend('http://127.0.0.1:1/v1', 'planner')


def test_four_bits_need_a_gpu_and_a_package(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    with pytest.raises(BackendError, match='4 bits need a GPU, and the device is cpu'):
        open_backend(tiny_model, device='cpu', four_bit=True)
    monkeypatch.setitem(sys.modules, 'bitsandbytes', None)
    with pytest.raises(BackendError, match=re.escape(install('quantize'))):
        four_bits(torch, 'cuda')
    assert nf4(torch).bnb_4bit_quant_storage.is_floating_point  # FSDP shards nothing else


CODE = {
    'config.json': {'model_type': 'evil', 'auto_map': {'AutoConfig': 'evil.EvilConfig'}},
    'tokenizer_config.json': {'auto_map': {'AutoTokenizer': ['evil.EvilTok', None]}},
    'generation_config.json': {'inner': [{'auto_map': {'AutoModel': 'other/repo--evil.Evil'}}]},
    'config.json#kernels': {'attn_implementation': 'someone/kernel'},
}


@pytest.mark.parametrize('case', CODE)
@pytest.mark.parametrize('prefix', ['', 'vllm:'])
def test_a_folder_that_asks_for_code_is_refused(
    tiny_model: Path, tmp_path: Path, case: str, prefix: str
) -> None:
    from safegen_ros.training.base import check_base
    from safegen_ros.training.config import ConfigError

    folder, name = tmp_path / 'evil', case.split('#')[0]
    shutil.copytree(tiny_model, folder)
    path = folder / name
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **CODE[case]}))
    ran = tmp_path / 'ran'
    (folder / 'evil.py').write_text(f"open({str(ran)!r}, 'w')\nclass EvilConfig: pass\n")
    with pytest.raises(BackendError, match=f'{name}: .* asks for code'):
        open_backend(f'{prefix}{folder}')
    with pytest.raises(ConfigError, match=f'{name}: .* asks for code'):
        check_base(folder, 16)
    assert not ran.exists()


def test_code_is_not_run_where_nobody_looked_for_it(tiny_model: Path, tmp_path: Path) -> None:
    folder, ran = tmp_path / 'evil', tmp_path / 'ran'
    shutil.copytree(tiny_model, folder)
    (folder / 'evil.py').write_text(f"open({str(ran)!r}, 'w')\n")
    for name in ('config.json', 'tokenizer_config.json'):
        values = json.loads((folder / name).read_text())
        kinds = ('AutoConfig', 'AutoModelForCausalLM')
        values |= {'model_type': 'evil', 'tokenizer_class': 'EvilTok'}
        values['auto_map'] = dict.fromkeys(kinds, 'evil.Evil')
        values['auto_map']['AutoTokenizer'] = ['evil.Evil', None]
        (folder / name).write_text(json.dumps(values))
    # The library asks nothing, even where the answer would always be yes.
    done = subprocess.run(
        [sys.executable, '-c', LOAD, folder], input='y\n' * 9, text=True, capture_output=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ['refused', 'refused'], done.stderr
    assert not ran.exists()


LOAD = """
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from safegen_ros.errors import BackendError
from safegen_ros.llm.model_folder import load_model, load_tokenizer
for load in (load_tokenizer, lambda folder: load_model(folder, {})):
    try:
        load(Path(sys.argv[1]))
    except BackendError:
        print('refused')
"""


def test_every_loader_is_told_to_run_no_code() -> None:
    root = Path(__file__).parents[2] / 'safegen_ros'
    calls = [
        call
        for path in root.rglob('*.py')
        for call in re.findall(
            r'\bAuto\w+\.from_pretrained\([^)]*', path.read_text(encoding='utf-8')
        )
    ]
    assert len(calls) >= 6
    assert all('**LOCAL' in call for call in calls), calls


@pytest.mark.parametrize(
    'template',
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        '{% for i in range(10**9) %}{% endfor %}',
        '{{ raise_exception("no") }}',
        '{% if %}',
    ],
)
def test_a_bad_chat_template_is_named(tiny_model: Path, tmp_path: Path, template: str) -> None:
    folder = tmp_path / 'm'
    shutil.copytree(tiny_model, folder)
    (folder / 'chat_template.jinja').write_text(template)
    with pytest.raises(BackendError, match='chat template'):
        open_backend(folder).generate([{'role': 'user', 'content': 'x'}], Sampling())


class Echo(Backend):
    """Another kind of backend, in as few lines as it takes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def _answers(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled,
        on_text: Callable[[str], None] | None = None,
    ) -> Iterator[tuple[int, Completion]]:
        for place, messages in enumerate(conversations):
            yield place, Completion(messages[-1]['content'], 1, 1, 0.0, 'stop')

    def close(self) -> None:
        """Has nothing to let go of."""


def test_another_kind_of_backend_is_a_class_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BackendError, match='nothing opens models of this kind'):
        open_backend('echo:FOLDER')
    monkeypatch.setitem(_OPENERS, 'echo:', lambda folder, settings: Echo(folder))
    backend = open_backend('echo:FOLDER')
    assert isinstance(backend, Echo)
    assert (backend.folder, model_folder('echo:FOLDER')) == ('FOLDER', Path('FOLDER'))
    asked = [[{'role': 'user', 'content': text}] for text in ('a', 'b')]
    assert backend.generate(asked[0], Sampling()).text == 'a'
    assert [c.text for c in backend.generate_batch(asked, Sampling())] == ['a', 'b']
    assert [c.text for c in backend.samples(asked[1], 2, Sampling())] == ['b', 'b']


def test_importing_the_backends_is_cheap() -> None:
    code = (
        'import sys, safegen_ros.llm.open_backend, safegen_ros.llm.openai_backend\n'
        'import safegen_ros.llm.batching_backend, safegen_ros.llm.vllm_backend\n'
        'import safegen_ros.llm.transformers_backend, safegen_ros.tasks.pddl3.prompts.styles\n'
        'assert not {"torch", "transformers", "openai", "vllm"} & set(sys.modules), "heavy"'
    )
    subprocess.run([sys.executable, '-c', code], check=True, timeout=60)


@pytest.mark.parametrize(
    ('host', 'address'),
    [
        ('', 'http://127.0.0.1:11434/v1#llama3.2:1b'),
        ('gpu:1234', 'http://gpu:1234/v1#llama3.2:1b'),
        ('https://gpu', 'https://gpu/v1#llama3.2:1b'),
    ],
)
def test_a_model_of_ollama_has_a_short_name(
    host: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('OLLAMA_HOST', host)
    assert named_model('ollama:llama3.2:1b') == address
    with closing(open_backend('ollama:llama3.2:1b')) as backend:
        assert isinstance(backend, OpenAIBackend)
        assert f'{backend.url}#{backend.model}' == address


@pytest.mark.parametrize(
    ('name', 'cure'),
    [
        ('127.0.0.1:8000/v1#m', 'write http://127.0.0.1:8000/v1#m'),
        ('192.168.0.5', 'write http://192.168.0.5:8000/v1#NAME'),
        ('localhost:8000', 'write http://localhost:8000/v1#NAME'),
        ('gpu-box', 'ollama:gpu-box for a model of Ollama, or http://gpu-box:8000/v1#NAME for'),
        ('gpu-box/v1', 'write http://gpu-box:8000/v1#NAME'),
        ('llama3.2:1b', 'ollama:llama3.2:1b for a model of Ollama'),
        ('vllm:Qwen/Qwen3-0.6B', 'hf download Qwen/Qwen3-0.6B --local-dir models/NAME'),
        ('runs/own', '): check the path'),
        ('models/safegen-mni', '): check the path'),
    ],
)
def test_what_is_meant_by_a_name_that_is_no_folder(name: str, cure: str) -> None:
    with pytest.raises(DataNotFoundError, match=re.escape(cure)):
        named_model(name)


def test_a_server_without_a_model_is_refused_before_anything_starts() -> None:
    with pytest.raises(BringupError, match='the model is missing: name it after the address'):
        node_specs('sim', {'model': 'http://127.0.0.1:9/v1'})
