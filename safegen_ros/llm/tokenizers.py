# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of the small models, as any `AutoTokenizer` loads them, and their special tokens.

They have a token for every word: `word_tokenizer` of a given list, `blank_tokenizer` of a corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from safegen_ros.llm.special_tokens import BETWEEN_WORDS, BOS, EOS, PAD, PLAN, SPECIAL_TOKENS, UNK

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
        words: every token; the place is its id, `SPECIAL_TOKENS` come first.
        context: longest sequence of the model, in tokens.
    """
    from tokenizers import Regex
    from tokenizers.normalizers import Lowercase, Replace
    from tokenizers.normalizers import Sequence as Steps

    return _tokenizer(words, context, Steps([Lowercase(), Replace(Regex(BETWEEN_WORDS), ' ')]))


def blank_tokenizer(texts: Iterable[str], context: int) -> PreTrainedTokenizerFast:
    """The tokenizer of a corpus whose words have blanks between them; each has a token.

    Args:
        context: longest sequence of the model, in tokens.
    """
    words = sorted({word for text in texts for word in text.split()} - set(SPECIAL_TOKENS))
    return _tokenizer([*SPECIAL_TOKENS, *words], context, None)


def _tokenizer(words: Sequence[str], context: int, normalizer: Any) -> PreTrainedTokenizerFast:
    from tokenizers import AddedToken, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    model = WordLevel(vocab={word: number for number, word in enumerate(words)}, unk_token=UNK)
    found = Tokenizer(model)
    if normalizer is not None:
        found.normalizer = normalizer
    found.pre_tokenizer = WhitespaceSplit()
    special = [AddedToken(mark, normalized=False, special=True) for mark in SPECIAL_TOKENS]
    found.add_special_tokens(special)
    loaded = PreTrainedTokenizerFast(
        tokenizer_object=found,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        unk_token=UNK,
        padding_side='left',
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
    loaded.chat_template = CHAT_TEMPLATE
    return loaded
