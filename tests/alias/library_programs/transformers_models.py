"""Three training steps of small models of Hugging Face transformers, made from configurations."""

import fixed
import torch
import transformers as hf

VOCABULARY = 96
SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
ENCODER = {**SMALL, "max_position_embeddings": 40}
DECODER = {**SMALL, "max_position_embeddings": 40, "num_key_value_heads": 2}
ids = fixed.whole_numbers(2, 12, below=VOCABULARY - 4) + 4
mask = torch.ones(2, 12, dtype=torch.long)
mask[1, 9:] = 0
MODELS = {
    "gpt2": (hf.GPT2LMHeadModel, hf.GPT2Config(vocab_size=VOCABULARY, n_positions=40, n_embd=32, n_layer=2, n_head=4)),
    "bert": (hf.BertForMaskedLM, hf.BertConfig(**ENCODER)),
    "bert_classes": (hf.BertForSequenceClassification, hf.BertConfig(**ENCODER, num_labels=3)),
    "roberta": (hf.RobertaForMaskedLM, hf.RobertaConfig(**ENCODER)),
    "distilbert": (
        hf.DistilBertForMaskedLM,
        hf.DistilBertConfig(vocab_size=VOCABULARY, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=40),
    ),
    "albert": (hf.AlbertForMaskedLM, hf.AlbertConfig(**ENCODER, embedding_size=16)),
    "electra": (hf.ElectraForMaskedLM, hf.ElectraConfig(**ENCODER, embedding_size=16)),
    "deberta_v2": (hf.DebertaV2ForMaskedLM, hf.DebertaV2Config(**ENCODER, relative_attention=True, pos_att_type=["p2c", "c2p"])),
    "modernbert": (hf.ModernBertForMaskedLM, hf.ModernBertConfig(**ENCODER, pad_token_id=0, reference_compile=False)),
    "llama": (hf.LlamaForCausalLM, hf.LlamaConfig(**DECODER)),
    "mistral": (hf.MistralForCausalLM, hf.MistralConfig(**DECODER, sliding_window=8)),
    "qwen2": (hf.Qwen2ForCausalLM, hf.Qwen2Config(**DECODER)),
    "qwen3": (hf.Qwen3ForCausalLM, hf.Qwen3Config(**DECODER, head_dim=8)),
    "gemma2": (hf.Gemma2ForCausalLM, hf.Gemma2Config(**DECODER, head_dim=8, pad_token_id=0)),
    "phi3": (hf.Phi3ForCausalLM, hf.Phi3Config(**DECODER, pad_token_id=0)),
    "mixtral": (hf.MixtralForCausalLM, hf.MixtralConfig(**DECODER, num_local_experts=4)),
    "gpt_neox": (hf.GPTNeoXForCausalLM, hf.GPTNeoXConfig(**ENCODER)),
    "gpt_neo": (
        hf.GPTNeoForCausalLM,
        hf.GPTNeoConfig(
            vocab_size=VOCABULARY, hidden_size=32, num_layers=2, num_heads=4, max_position_embeddings=40,
            attention_types=[[["global", "local"], 1]], window_size=8,
        ),
    ),
    "opt": (
        hf.OPTForCausalLM,
        hf.OPTConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, max_position_embeddings=40, word_embed_proj_dim=32),
    ),
    "bloom": (hf.BloomForCausalLM, hf.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4)),
    "mamba": (hf.MambaForCausalLM, hf.MambaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4)),
    "t5": (
        hf.T5ForConditionalGeneration,
        hf.T5Config(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0),
    ),
    "bart": (
        hf.BartForConditionalGeneration,
        hf.BartConfig(
            vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=40,
        ),
    ),
}  # fmt: skip
IMAGE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32}


def text(name):
    kind, config = MODELS[name]
    labels = {"labels": fixed.whole_numbers(2, below=3)} if name == "bert_classes" else {"labels": ids}
    inputs = {"input_ids": ids, "attention_mask": mask, **labels}
    return fixed.both(lambda: kind(config), lambda model: model(**inputs).loss)


def vit():
    pixels, labels = fixed.numbers(2, 3, 32, 32), torch.tensor([1, 0])
    config = hf.ViTConfig(**IMAGE, patch_size=8, num_labels=3)
    return fixed.both(
        lambda: hf.ViTForImageClassification(config), lambda model: model(pixel_values=pixels, labels=labels).loss
    )


def clip():
    text_part = {**SMALL, "max_position_embeddings": 40, "eos_token_id": 3, "bos_token_id": 2}
    config = hf.CLIPConfig(text_config=text_part, vision_config={**IMAGE, "patch_size": 8}, projection_dim=16)
    pixels = fixed.numbers(2, 3, 32, 32)
    inputs = {"input_ids": ids, "attention_mask": mask, "pixel_values": pixels, "return_loss": True}
    return fixed.both(lambda: hf.CLIPModel(config), lambda model: model(**inputs).loss)


def wav2vec2():
    config = hf.Wav2Vec2Config(
        **SMALL, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2, num_feat_extract_layers=2, mask_time_prob=0.0, pad_token_id=0,
    )  # fmt: skip
    sound, labels = fixed.numbers(2, 400), fixed.whole_numbers(2, 6, below=90) + 1
    return fixed.both(lambda: hf.Wav2Vec2ForCTC(config), lambda model: model(input_values=sound, labels=labels).loss)


def generate():
    """Tokens that GPT-2, Llama and T5 choose: greedily, by beams, by sampling."""
    found = {}
    for name in ("gpt2", "llama", "t5"):
        kind, config = MODELS[name]
        model = fixed.fill(kind(config)).eval()
        options = {"max_new_tokens": 8, "pad_token_id": 0, "attention_mask": mask[:1]}
        found[f"{name} greedy"] = model.generate(ids[:1], do_sample=False, **options).flatten().tolist()
        found[f"{name} beams"] = model.generate(ids[:1], num_beams=3, **options).flatten().tolist()
        torch.manual_seed(3)
        found[f"{name} sampled"] = (
            model.generate(ids[:1], do_sample=True, top_k=20, top_p=0.9, **options).flatten().tolist()
        )
    return found


cases = {name: (lambda name=name: text(name)) for name in MODELS}
fixed.main({**cases, "vit": vit, "clip": clip, "wav2vec2": wav2vec2, "generate": generate})
