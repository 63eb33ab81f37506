// Models for tests, written in ONNX's own textual form.
//
//   std::string bytes = model_of("g (float[2] x) => (float[2] y) { y = Relu(x) }");      // opset 21
//   Result<onnx::Model> model = load_text("...", {.extents = {{"n", 3}}});
#ifndef RLXGPU_TESTS_ONNX_MODEL_TEXT_H_
#define RLXGPU_TESTS_ONNX_MODEL_TEXT_H_

#include <span>
#include <stdexcept>
#include <string>

#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "rlxgpu/load/onnx/onnx.h"

namespace rlxgpu::core::testing {

inline ::onnx::ModelProto proto_of(const std::string& text) {
  ::onnx::ModelProto proto;
  const std::string whole = text.starts_with("<") ? text : "<ir_version: 10, opset_import: [\"\" : 21]>\n" + text;
  const auto status = ::onnx::OnnxParser::Parse(proto, whole.c_str());
  if (!status.IsOK()) throw std::invalid_argument(status.ErrorMessage());
  return proto;
}
inline std::string model_of(const std::string& text) { return proto_of(text).SerializeAsString(); }

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

inline Result<onnx::Model> load_text(const std::string& text, const onnx::LoadOptions& options = {},
                                     const std::string& folder = "") {
  return onnx::load(bytes_of(model_of(text)), options, folder);
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_ONNX_MODEL_TEXT_H_
