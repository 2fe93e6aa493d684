# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A myCobot 280 made of software: its firmware's protocol on a serial port or TCP, over the twin.

What the real firmware does is known from the vendor's documents, from what its library needs, and
from logs of users; docs/arm-failures.md lists what is assumed.
"""
