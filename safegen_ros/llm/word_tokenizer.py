# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The word-level tokenizer of the small model, as any `AutoTokenizer` loads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from safegen_ros.llm.marks import BETWEEN_WORDS, BOS, EOS, MARKS, PAD, PLAN, UNK

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CHAT_TEMPLATE = (
    '{{ bos_token }}'
    '{% for message in messages %}'
    "{% if message['role'] == 'assistant' %}"
    f" {PLAN} {{{{ message['content'] }}}} {{{{ eos_token }}}}"
    '{% else %}'
    " {{ message['content'] }}"
    '{% endif %}'
    '{% endfor %}'
    f'{{% if add_generation_prompt %}} {PLAN}{{% endif %}}'
)
"""A task is a user message, a plan an assistant message; `[plan]` asks for a plan."""


def word_tokenizer(words: Sequence[str], context: int) -> PreTrainedTokenizerFast:
    """The tokenizer: one id per word; letters are made small, and marks between words go.

    Args:
        words: every token; the place is its id, `MARKS` come first.
        context: longest sequence of the model, in tokens.
    """
    from tokenizers import AddedToken, Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase, Replace
    from tokenizers.normalizers import Sequence as Steps
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    model = WordLevel(vocab={word: number for number, word in enumerate(words)}, unk_token=UNK)
    found = Tokenizer(model)
    found.normalizer = Steps([Lowercase(), Replace(Regex(BETWEEN_WORDS), ' ')])
    found.pre_tokenizer = WhitespaceSplit()
    found.add_special_tokens([AddedToken(mark, normalized=False, special=True) for mark in MARKS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=found,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        unk_token=UNK,
        padding_side='left',
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer
