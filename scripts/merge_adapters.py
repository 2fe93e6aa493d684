# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes one plain model folder of adapters and their base, for servers and converters.

.venv/bin/python scripts/merge_adapters.py models/safegen-smollm2 runs/smollm2

The weights are those that the stack makes of the adapters when it starts.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from safegen_ros.llm.model_folder import check_folder, load_model, load_tokenizer, quick_start
from safegen_ros.llm.model_names import SETTINGS


def merge(adapters: Path, out: Path) -> None:
    """Writes the model; `out` must not be there.

    Raises:
        BackendError: the adapters or their base cannot be loaded.
    """
    check_folder(adapters)
    out.mkdir(parents=True)
    with quick_start():
        load_model(adapters, {}).save_pretrained(out)
        load_tokenizer(adapters).save_pretrained(out)
    if (adapters / SETTINGS).exists():
        shutil.copy(adapters / SETTINGS, out)


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('adapters', type=Path)
    parser.add_argument('out', type=Path)
    arguments = parser.parse_args()
    merge(arguments.adapters, arguments.out)


if __name__ == '__main__':
    main()
