# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The word-level tokenizer of the small model, as any `AutoTokenizer` loads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safegen_ros.llm.vocabulary import BOS, EOS, PAD, PLAN, UNK, WORD_ID

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


def build_tokenizer(context: int) -> PreTrainedTokenizerFast:
    """The tokenizer: one id per word, words separated by white space.

    Args:
        context: longest sequence of the model, in tokens.
    """
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(WordLevel(vocab=dict(WORD_ID), unk_token=UNK))
    words.pre_tokenizer = WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
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
