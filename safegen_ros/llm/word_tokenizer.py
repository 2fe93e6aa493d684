# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Word-level tokenizers of small models, as any `AutoTokenizer` loads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from safegen_ros.llm.special_tokens import BETWEEN_WORDS, BOS, EOS, MARKS, PAD, PLAN, UNK

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
    from tokenizers import Regex
    from tokenizers.normalizers import Lowercase, Replace
    from tokenizers.normalizers import Sequence as Steps

    return _tokenizer(words, context, Steps([Lowercase(), Replace(Regex(BETWEEN_WORDS), ' ')]))


def blank_tokenizer(texts: Iterable[str], context: int) -> PreTrainedTokenizerFast:
    """The tokenizer of a corpus whose words have blanks between them; each has a token.

    Args:
        texts: the corpus.
        context: longest sequence of the model, in tokens.
    """
    words = sorted({word for text in texts for word in text.split()} - set(MARKS))
    return _tokenizer([*MARKS, *words], context, None)


def _tokenizer(words: Sequence[str], context: int, normalizer: Any) -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    model = WordLevel(vocab={word: number for number, word in enumerate(words)}, unk_token=UNK)
    found = Tokenizer(model)
    if normalizer is not None:
        found.normalizer = normalizer
    found.pre_tokenizer = WhitespaceSplit()
    return marked(found, context, CHAT_TEMPLATE)


def marked(tokenizer: Any, context: int, template: str) -> PreTrainedTokenizerFast:
    """A tokenizer as `AutoTokenizer` loads it, with the marks as special tokens.

    Args:
        tokenizer: of the library `tokenizers`; its vocabulary has the marks.
        context: longest sequence of the model, in tokens.
        template: how a conversation is written.
    """
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerFast

    special = [AddedToken(mark, normalized=False, special=True) for mark in MARKS]
    tokenizer.add_special_tokens(special)
    found = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        unk_token=UNK,
        padding_side='left',
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
    found.chat_template = template
    return found
