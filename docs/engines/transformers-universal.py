"""transformers 5.23.0: with tokenizers that differ, tokens and their probabilities get different numbers."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.generation.candidate_generator import AssistantToTargetTranslator

WORDS = ["red", "green", "blue", "black"]


def tokenizer(words):
    raw = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token=words[0]))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=raw)


torch.manual_seed(0)
sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
assistant = LlamaForCausalLM(LlamaConfig(vocab_size=5, **sizes)).eval()
target, foreign = tokenizer(WORDS), tokenizer([*WORDS, "white"])  # the assistant knows one word more
between = AssistantToTargetTranslator(target, foreign, 4, assistant_model=assistant, assistant_prune_lm_head=True)
prompt = torch.tensor([[0]])
with torch.no_grad():
    row = assistant(prompt).logits[0, -1]  # of the words that both know
scored = between.get_target_logits(row)
for drawn in range(len(row)):
    word = int(between.get_target_ids(prompt, prompt, torch.tensor([[0, drawn]]))[0, -1])
    print(f"{WORDS[word]:6} is drawn with {row.softmax(-1)[drawn]:.3f}, scored with {scored.softmax(-1)[word]:.3f}")
