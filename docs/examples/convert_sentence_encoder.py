#!/usr/bin/env python3
"""Converts Universal Sentence Encoder Lite, a TensorFlow.js graph model, to the weights of sentence_encoder.h.

    convert_sentence_encoder.py FOLDER_OF_model.json OUT.safetensors

Every weight is looked up by its name in the model; one that is missing, or of another shape, is an error.
"""
import json
import os
import struct
import sys

LAYER = "module_apply_default/Encoder_en/KonaTransformer/Encode/%sLayer_%d/TransformerLayer/%s"
KERNEL = "module/Encoder_en/KonaTransformer/Encode/Layer_%d/TransformerLayer/MultiheadAttention/%s/kernel/part_0"
JOINED = "/ConcatPartitions/concat"


def layer_weights(layer, width):
    """Our name, the model's, our shape."""
    def given(name):
        return LAYER % ("", layer, name) + JOINED

    def folded(name):
        return LAYER % ("TransformerStack/", layer, "FFN/%s/Tensordot/Reshape_1" % name)

    norm = "layer_prepostprocess/layer_norm/layer_norm_"
    attention = "MultiheadAttention/"
    yield "g1", given(norm + "scale"), [width]
    yield "s1", given(norm + "bias"), [width]
    yield "wqkv", KERNEL % (layer, "qkv_transform_single"), [width, 3 * width]
    yield "bqkv", given(attention + "qkv_transform_single/bias"), [3 * width]
    yield "wo", KERNEL % (layer, "output_transform_single"), [width, 512]
    yield "bo", given(attention + "output_transform_single/bias"), [512]
    if width != 512:
        yield "wadjust", given("dense/kernel"), [width, 512]
        yield "badjust", given("dense/bias"), [512]
    yield "g2", given("FFN/" + norm + "scale"), [512]
    yield "s2", given("FFN/" + norm + "bias"), [512]
    yield "w1", folded("conv1"), [512, 1536]
    yield "b1", given("FFN/conv1/bias"), [1536]
    yield "w2", folded("conv2"), [1536, 512]
    yield "b2", given("FFN/conv2/bias"), [512]


def all_weights():
    yield "embeddings", "module/Embeddings_en", [8002, 256]
    yield "rates", LAYER.split("%s")[0] + "TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1", [1, 128]
    for layer, width in enumerate([256, 512]):
        for ours, theirs, shape in layer_weights(layer, width):
            yield "%d.%s" % (layer, ours), theirs, shape
    yield "w", "module/Encoder_en/hidden_layers/tanh_layer_0/weights", [512, 512]
    yield "b", "module/Encoder_en/hidden_layers/tanh_layer_0/bias", [512]


def count_of(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def main(folder, out):
    with open(os.path.join(folder, "model.json"), encoding="utf-8") as file:
        manifest = json.load(file)["weightsManifest"]
    stored = {}
    for group in manifest:
        data = b""
        for path in group["paths"]:
            with open(os.path.join(folder, path), "rb") as file:
                data += file.read()
        at = 0
        for weight in group["weights"]:
            size = 4 * count_of(weight["shape"])
            stored[weight["name"]] = (weight, data[at:at + size])
            at += size
    header, parts, at = {}, [], 0
    for ours, theirs, shape in all_weights():
        if theirs not in stored:
            sys.exit("%s: the model has no weight %s" % (folder, theirs))
        weight, data = stored[theirs]
        if weight["dtype"] != "float32" or count_of(weight["shape"]) != count_of(shape) or "quantization" in weight:
            sys.exit("%s: weight %s is %s %s, not float32 %s" % (folder, theirs, weight["dtype"], weight["shape"], shape))
        header[ours] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(out + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for data in parts:
            file.write(data)
    os.replace(out + ".part", out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
