# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""English of three kinds: rules in plain words, canonical English, and what a domain is called.

`rules` reads plain words, `free_text` has a model translate freer ones, `attribute_rules` reads
YAML, and `additions` puts what was read on top of what a problem demands. `english` writes
canonical English and `english_reader` reads it back.
"""
