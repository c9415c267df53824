"""flashspec 0.3.1: first tokens of two sequences at temperature 1, with the target itself as the draft."""

import logging
from collections import Counter

import torch
from flashspec import FlashSpecConfig, SamplingConfig, SpeculativeEngine
from flashspec.engine.hf_drafter import HuggingFaceDrafter
from flashspec.engine.verifier import TargetModel
from transformers import LlamaConfig, LlamaForCausalLM

logging.disable(logging.CRITICAL)
torch.manual_seed(0)
sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
model = LlamaForCausalLM(LlamaConfig(vocab_size=4, **sizes)).eval()
cpu, prompt = torch.device("cpu"), torch.zeros(2, 1, dtype=torch.long)
with torch.no_grad():
    print("should:", [round(x, 2) for x in model(prompt).logits[0, -1].softmax(-1).tolist()])
for temperature in (1.0, 0.0):
    drafter = HuggingFaceDrafter("draft", cpu, torch.float32, temperature, model=model)
    config = FlashSpecConfig(device="cpu", dtype="float32", sampling=SamplingConfig(gamma=2, temperature=1.0))
    engine = SpeculativeEngine(config, [drafter], TargetModel("target", cpu, torch.float32, model=model))
    first = Counter(int(engine.generate(prompt, max_new_tokens=1).output_ids[0][0]) for _ in range(200))
    print(f"drafter at temperature {temperature}:", [round(first[token] / 200, 2) for token in range(4)])
