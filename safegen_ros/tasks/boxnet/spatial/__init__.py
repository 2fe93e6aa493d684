# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""BoxNet3D: arms of real shape carry boxes; one interface to rules of three depths.

What both worlds share is in `tasks.boxnet`; importing this package makes it at home there.
"""

import safegen_ros.tasks.boxnet.spatial.planning
import safegen_ros.tasks.boxnet.spatial.prompts  # noqa: F401  # they say what both worlds do otherwise
