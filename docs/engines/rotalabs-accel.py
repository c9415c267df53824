"""rotalabs-accel 1.1.1: the loop fails, and after a rejection the draft's other probabilities are not taken off."""

import torch
from rotalabs_accel.speculative import core, rejection_sample


class Model:  # logits of zero, whatever comes before
    def __call__(self, tokens, past_key_values=None, use_cache=True):
        return type("Answer", (), {"logits": torch.zeros(1, tokens.shape[1], 3), "past_key_values": None})()


last, drafts = torch.zeros(1, 1, dtype=torch.long), torch.tensor([0])
for name, call in {
    "draft_tokens": lambda: core.draft_tokens(Model(), last, None, 1, 1.0, 1.0),
    "verify_tokens": lambda: core.verify_tokens(Model(), last, drafts, torch.tensor([0.1]), None, 1.0, 1.0),
}.items():
    try:
        call()
    except TypeError as error:
        print(f"{name}: TypeError: {error}")

torch.manual_seed(0)
p, q, n = torch.tensor([1, 1, 1]) / 3, torch.tensor([2, 1, 0]) / 3, 30_000
counts = torch.zeros(3)
for draft in torch.multinomial(q, n, replacement=True):
    counts[rejection_sample(p[draft], q[draft], draft, p.log())[1]] += 1
print("comes out:", *(f"{x:.3f}" for x in counts / n), " should:", *(f"{x:.3f}" for x in p))
