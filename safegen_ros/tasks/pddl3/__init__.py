# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks in PDDL3: a domain, a problem, and constraints on the whole trajectory."""

from safegen_ros.language.lexicon import add_source
from safegen_ros.tasks.pddl3.domains import vocabulary

add_source(vocabulary)
