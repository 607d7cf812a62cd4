"""Write a language model of random weights, so that a real server runs without a download.

The architecture is Llama with two layers. A token is a byte, so the model reads every text. Its replies are noise in
ASCII. The same seed gives the same weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

SEED: Final = 7
LAYERS: Final = 2
WIDTH: Final = 64
"""The number of dimensions of an embedding."""
HEADS: Final = 4
INNER: Final = 128
"""The number of dimensions between the two matrices of a feed-forward layer."""
CONTEXT: Final = 32_768
"""The longest text of the model, in tokens."""
TEMPLATE: Final = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant: "

_CONTROL: Final = ("<unk>", "<s>", "</s>")
_UNKNOWN, _BEGIN, _END = range(len(_CONTROL))
_TOKENS: Final = len(_CONTROL) + 256
_QUOTE: Final = len(_CONTROL) + ord('"')
_NOT_ASCII: Final = slice(len(_CONTROL) + 128, _TOKENS)

_Matrix = NDArray[np.float32]


def write_tiny_model(path: Path) -> None:
    """Write the model to a file in the format GGUF, about half a megabyte."""
    from gguf import GGUFWriter, TokenType

    writer = GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*_CONTROL, *(f"<0x{byte:02X}>" for byte in range(256))])
    writer.add_token_scores([0.0] * _TOKENS)
    writer.add_token_types([TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256])
    writer.add_unk_token_id(_UNKNOWN)
    writer.add_bos_token_id(_BEGIN)
    writer.add_eos_token_id(_END)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    for name, weights in tensors().items():
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensors() -> dict[str, _Matrix]:
    """Return the weights by the names of GGUF. A matrix has a row for each dimension of its result.

    The first dimension of all embeddings is equal, so the first column of `output` is a bias of the tokens. It makes
    the end of a reply and of a string more probable, because replies without an end take long. It prevents bytes that
    are not ASCII, because noise of bytes is no text.
    """
    chance = np.random.default_rng(SEED)

    def matrix(rows: int, columns: int) -> _Matrix:
        return chance.normal(0.0, columns**-0.5, (rows, columns)).astype(np.float32)

    embeddings, output = matrix(_TOKENS, WIDTH), matrix(_TOKENS, WIDTH)
    embeddings[:, 0] = 1.0
    output[:, 0] = 0.0
    output[[_END, _QUOTE], 0] = 0.8
    output[_NOT_ASCII, 0] = -5.0
    ones = np.ones(WIDTH, np.float32)
    weights = {"token_embd.weight": embeddings, "output_norm.weight": ones, "output.weight": output}
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        weights |= {f"{block}.{name}_norm.weight": ones for name in ("attn", "ffn")}
        weights |= {f"{block}.attn_{name}.weight": matrix(WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        weights |= {f"{block}.ffn_{name}.weight": matrix(INNER, WIDTH) for name in ("gate", "up")}
        weights[f"{block}.ffn_down.weight"] = matrix(WIDTH, INNER)
    return weights
