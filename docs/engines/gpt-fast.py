"""gpt-fast at 6ecad9b: `generate` with and without a draft model (python gpt-fast.py FOLDER, a checkout of it)."""

import sys
from importlib import import_module
from types import ModuleType

import torch

for name in ("sentencepiece", "tiktoken", "tiktoken.load"):  # tokenizers, which are not needed here
    sys.modules[name] = ModuleType(name)
sys.modules["tiktoken.load"].load_tiktoken_bpe = None
sys.path.insert(0, sys.argv[1])
generate, model = map(import_module, ("generate", "model"))

torch.manual_seed(0)
sizes = model.ModelArgs(block_size=128, vocab_size=64, n_layer=1, n_head=2, dim=32)
target, draft = model.Transformer(sizes), model.Transformer(sizes)
generate.device, prompt = "cpu", torch.tensor([1, 2, 3], dtype=torch.int)
for drafts in (None, draft):
    options = {"interactive": False, "draft_model": drafts, "speculate_k": 3, "temperature": 1.0, "top_k": None}
    print("with a draft model:" if drafts else "without one:")
    try:
        print(" ", generate.generate(target, prompt, 8, 1, **options)[0].tolist())
    except RuntimeError as error:
        print("  RuntimeError:", error)
