# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The old place of `Wording`, which domain folders of release 0.2 import; for one release."""

from safegen_ros.language.lexicon import Wording as Wording
