# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of the small models, as any `AutoTokenizer` loads them, and their special tokens.

`word_tokenizer` and `blank_tokenizer` have a token for every word. `text_tokenizer` keeps every
character. A word of its corpus is one token, with the blank before it if there is one; so is each
digit and each punctuation mark. Other words are spelt by their letters.
"""

from __future__ import annotations

import re
from collections import Counter
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
    """
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerFast

    special = [AddedToken(mark, normalized=False, special=True) for mark in SPECIAL_TOKENS]
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


PIECES = r' ?[^\W\d]+| ?\d| ?[^\w\s]|\s'
"""What a token is before the corpus is known: a word, a digit, a mark or a lone blank."""

TEXT_TEMPLATE = (
    '{{ bos_token }}'
    '{% for message in messages %}'
    "{% if message['role'] == 'assistant' %}"
    f"{PLAN}{{{{ message['content'] }}}}{{{{ eos_token }}}}"
    "{% else %}{{ message['content'] }}{% endif %}"
    '{% endfor %}'
    f'{{% if add_generation_prompt %}}{PLAN}{{% endif %}}'
)
"""`CHAT_TEMPLATE` without added blanks."""


def text_tokenizer(
    texts: Iterable[str], context: int, most_words: int = 4000
) -> PreTrainedTokenizerFast:
    """The tokenizer of a corpus; `decode` gives back the very text.

    Args:
        context: longest sequence of the model [tokens].
        most_words: how many words have a token; the rarest are spelt.
    """
    from tokenizers import Regex, Tokenizer
    from tokenizers.decoders import Fuse
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import Split

    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(re.findall(PIECES, text))
    letters = sorted({letter for word in counts for letter in word} | {' '})
    common = sorted(counts, key=lambda word: (-counts[word], word))[:most_words]
    words = [*SPECIAL_TOKENS, *letters, *sorted(set(common) - set(letters))]
    vocabulary = {word: number for number, word in enumerate(words)}
    found = Tokenizer(BPE(vocabulary, [], unk_token=UNK, ignore_merges=True))
    found.pre_tokenizer = Split(Regex(PIECES), 'isolated')
    found.decoder = Fuse()
    return marked(found, context, TEXT_TEMPLATE)
