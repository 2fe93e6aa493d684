# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the small model reads and writes beside words."""

from __future__ import annotations

PAD, BOS, EOS, UNK = '[pad]', '[bos]', '[eos]', '[unk]'
PLAN, ATTEMPT, VERDICT = '[plan]', '[attempt]', '[verdict]'

SPECIAL_TOKENS = (PAD, BOS, EOS, UNK, PLAN, ATTEMPT, VERDICT)
"""Tokens that are not words: a task is followed by `[plan]`, which asks for a plan; a task may end
with a failed `[attempt]` and the `[verdict]` on it."""

BETWEEN_WORDS = r'[^a-z0-9_\-]+|(?<![a-z0-9_])-+'
"""What stands between words, once letters are small: brackets, commas, quotes, lone hyphens."""
