# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers that are made from a corpus: what comes out is what went in."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.strategies import SUITE

from safegen_ros.llm.special_tokens import BOS, EOS, PLAN, SPECIAL_TOKENS

CORPUS = ('Robot 0: "[1.25, 1.25] -> [0.5, 0.75], False"\n  red_ball', 'Robot 1: stays', 'x y z')


@cache
def tokenizer() -> Any:
    from safegen_ros.llm.tokenizers import text_tokenizer

    return text_tokenizer(CORPUS, 64)


@SUITE
@given(st.text(alphabet=sorted(set(''.join(CORPUS))), max_size=60))
def test_a_text_of_the_letters_of_the_corpus_comes_back(text: str) -> None:
    ids = tokenizer()(text, add_special_tokens=False, split_special_tokens=True)['input_ids']
    assert tokenizer().decode(ids) == text


def test_digits_and_marks_are_tokens_and_words_have_one() -> None:
    tokens = tokenizer().tokenize('Robot 12: [1.5, Fob')
    assert tokens == ['Robot', ' 1', '2', ':', ' [', '1', '.', '5', ',', ' ', 'F', 'o', 'b']


def test_a_folder_keeps_it(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer().save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    asked = [{'role': 'user', 'content': 'Robot 1'}, {'role': 'assistant', 'content': 'x 2'}]
    told = loaded.apply_chat_template(asked, tokenize=False)
    assert told == f'{BOS}Robot 1{PLAN}x 2{EOS}'
    assert loaded.tokenize(told)[0] == BOS
    assert loaded.convert_tokens_to_ids(list(SPECIAL_TOKENS)) == list(range(len(SPECIAL_TOKENS)))


def test_words_between_blanks_have_a_token_each() -> None:
    from safegen_ros.llm.tokenizers import blank_tokenizer

    found = blank_tokenizer(['on n12 [1,2] -> b', 'B on'], 16)
    assert found.tokenize('B on [1,2] -> n12') == ['B', 'on', '[1,2]', '->', 'n12']
    assert found.convert_tokens_to_ids('b') != found.convert_tokens_to_ids('B')
