# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A tokenizer for a new network whose words are those of a corpus, and which keeps every character.

A word is one token, with the blank before it if there is one; so is each digit and each mark of
punctuation. A word that the corpus does not have is spelt by its letters, if the corpus has those.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from safegen_ros.llm.special_tokens import MARKS, PLAN, UNK
from safegen_ros.llm.word_tokenizer import marked

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PIECES = r' ?[^\W\d]+| ?\d| ?[^\w\s]|\s'
"""What a token is before the corpus is known: a word, a digit, a mark or a lone blank."""

CHAT_TEMPLATE = (
    '{{ bos_token }}'
    '{% for message in messages %}'
    "{% if message['role'] == 'assistant' %}"
    f"{PLAN}{{{{ message['content'] }}}}{{{{ eos_token }}}}"
    "{% else %}{{ message['content'] }}{% endif %}"
    '{% endfor %}'
    f'{{% if add_generation_prompt %}}{PLAN}{{% endif %}}'
)
"""As of `word_tokenizer`, without blanks of its own."""


def text_tokenizer(
    texts: Iterable[str], context: int, most_words: int = 4000
) -> PreTrainedTokenizerFast:
    """The tokenizer of a corpus; `decode` gives back the very text.

    Args:
        texts: the corpus.
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
    words = [*MARKS, *letters, *sorted(set(common) - set(letters))]
    vocabulary = {word: number for number, word in enumerate(words)}
    found = Tokenizer(BPE(vocabulary, [], unk_token=UNK, ignore_merges=True))
    found.pre_tokenizer = Split(Regex(PIECES), 'isolated')
    found.decoder = Fuse()
    return marked(found, context, CHAT_TEMPLATE)
