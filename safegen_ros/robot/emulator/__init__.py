# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A myCobot 280 made of software: its firmware's protocol on a serial port or TCP, over the twin.

The behaviour of the real firmware is known from the vendor's documents, from the needs of its
library, and from logs of users; docs/arm-failures.md lists the assumptions.
"""
