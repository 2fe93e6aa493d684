# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""English of three kinds: rules in plain words, canonical English, and what a domain is called.

`rules` reads plain words, `free_text` has a model translate freer ones, `attribute_rules` reads
YAML, and `additions` adds the result to the demands of a problem. `english` writes canonical
English and `english_reader` reads it back.
"""
