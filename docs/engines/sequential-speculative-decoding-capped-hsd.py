"""sequential-speculative-decoding 0.1.1: the first token of its capped step, with two drafts."""

import torch
from seqspecdecod.capped_hsd import capped_hsd_step

P, Q, STEPS = [1 / 3, 2 / 3], [2 / 3, 1 / 3], 4000


def model(row):  # the same row after everything
    def forward(tokens):
        return type("Answer", (), {"logits": torch.tensor(row).log().expand(1, tokens.shape[1], 2)})()

    return forward


torch.manual_seed(0)
prompt = torch.zeros(1, 1, dtype=torch.long)
ones = 0
for _ in range(STEPS):
    tokens, *_ = capped_hsd_step(model(Q), model(P), prompt, gamma=2, draft_temperature=1.0, target_temperature=1.0)
    ones += int(tokens[0, 1])
print(f"token 1 comes first: {ones / STEPS:.3f}  should: {P[1]:.3f}  (the draft's: {Q[1]:.3f})")
