// free_sizes: one kernel for many shapes. The sizes that stand in kernel texts as literals become numbers that are read
// from memory, so that programs which differ only in them share texts, hence pipelines.
//
//   Program program = compile(graph, target);
//   std::vector<std::string> texts = ...;              // rendered, with every size a literal ("baked")
//   free_sizes(program, texts, target);                // fewer kernels, and one more constant for each step
//
// A driver compiles each new text for 0.1 to 0.5 s, and runs the free form 1.2 to 2.2 times as long (lavapipe): baked
// is for shapes that are used again and again, free for those that come and go.
//
// It works on the text, after everything else, so that ops need not know of it. A size is: a module constant of the
// file's //#params, or one computed from such, that only function bodies use, where WGSL lets it be any number (not the
// length of an array, say); a literal above 1 in the code that the machine writes for extents, places, inputs and
// outputs; and there a float, but for the likes of 0 and 1, so that layers share kernels which differ in a number of
// the model's. The sizes of a step are one tensor of u32 in a constant buffer, bound after the kernel's own bindings. A
// kernel that has no binding left, of those that every device has, keeps its literals.
#ifndef RLXGPU_COMPILE_FREE_SIZES_H_
#define RLXGPU_COMPILE_FREE_SIZES_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/compile/module_constants.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/wgsl/kernel_file.h"
#include "rlxgpu/wgsl/reader.h"

namespace rlxgpu::core {
namespace internal {

struct FreeKernel {
  std::string text;
  std::vector<uint32_t> sizes;  // what its literals were
};

// Writes a text with sizes in place of literals.
class FreeWriter {
 public:
  FreeWriter(std::string_view text, const KernelFile& file)
      : text_(text), file_(file), constants_(constants_of(text, file)) {}

  FreeKernel write(int32_t binding) {
    WgslReader reader(text_);
    bool skipping = false;  // the declaration of a constant that is one no more
    for (std::string_view token = reader.next(); reader.kind() != WgslReader::Kind::end; token = reader.next()) {
      if (skipping) {
        skipping = token != ";";
      } else if (reader.kind() == WgslReader::Kind::word && is_lifted(token)) {
        skipping = reader.depth() == 0;
        if (skipping) {
          kernel_.text.erase(kernel_.text.rfind("const"));
        } else {
          constant(token);
        }
      } else if (!literal(reader, token)) {
        kernel_.text += token;
      }
    }
    if (!kernel_.sizes.empty()) {
      kernel_.text += "@group(0) @binding(" + std::to_string(binding) + ") var<storage, read> rlx_sizes : array<u32, " +
                      std::to_string(kernel_.sizes.size()) + ">;\n";
    }
    return std::move(kernel_);
  }

 private:
  bool is_lifted(std::string_view name) const {
    const auto found = constants_.find(name);
    return found != constants_.end() && found->second.liftable;
  }
  // A function that the machine wrote: an extent, a place, or the access to an input or output.
  bool is_written(std::string_view function) const {
    for (int i = 0; i < file_.name_count(); ++i) {
      const KernelFile::Name& name = file_.name(i);
      const bool itself = name.kind == KernelFile::Kind::extent || name.kind == KernelFile::Kind::place;
      if (itself && name.text == function) return true;
      if (name.kind != KernelFile::Kind::input && name.kind != KernelFile::Kind::output) continue;
      if (function.size() > name.text.size() && function.starts_with(name.text) && function[name.text.size()] == '_')
        return true;
    }
    return false;
  }
  void size(size_t place, bool is_signed) {
    const std::string element = "rlx_sizes[" + std::to_string(place) + "]";
    kernel_.text += is_signed ? "bitcast<i32>(" + element + ")" : element;
  }
  void constant(std::string_view name) {
    const ModuleConstant& constant = constants_.at(name);
    if (!constant.is_literal) {  // computed where it is used
      kernel_.text += '(';
      for (const std::string_view token : constant.value) {
        is_lifted(token) ? this->constant(token) : void(kernel_.text += token);
        kernel_.text += ' ';
      }
      kernel_.text += ')';
      return;
    }
    const auto [place, added] = places_.emplace(name, kernel_.sizes.size());
    if (added) kernel_.sizes.push_back(constant.word);
    size(place->second, constant.is_signed);
  }
  // A number of the model's: layers that differ in nothing else share a kernel. Zero, one and the like mean something.
  bool real(const WgslReader& reader, uint32_t bits) {
    const float value = std::bit_cast<float>(bits), size = value < 0 ? -value : value;
    if (size == 0 || size == 0.5f || size == 1 || size == 2 || !is_written(reader.function())) return false;
    this->size(kernel_.sizes.size(), false);
    kernel_.sizes.push_back(bits);
    return true;
  }
  bool literal(const WgslReader& reader, std::string_view token) {
    uint32_t value = 0;
    if (reader.kind() != WgslReader::Kind::number || !reader.takes_any_number()) return false;
    if (kernel_.text.ends_with("bitcast<f32>(") && parse_bits(token, value)) return real(reader, value);
    if (!parse_unsigned(token, value)) return false;
    if (value < 2 || reader.before() == "<<" || reader.before() == ">>" || !is_written(reader.function())) return false;
    size(kernel_.sizes.size(), false);
    kernel_.sizes.push_back(value);
    return true;
  }

  std::string_view text_;
  const KernelFile& file_;
  ModuleConstants constants_;
  FreeKernel kernel_;
  std::map<std::string_view, size_t> places_;  // of constants among the sizes
};

inline FreeKernel free_kernel(std::string_view text, const KernelFile& file, int32_t binding) {
  return FreeWriter(text, file).write(binding);
}

}  // namespace internal

// texts[k] is the WGSL of kernel k, and stays so.
inline void free_sizes(Program& program, std::vector<std::string>& texts, const Target& target) {
  SpecPools& pools = program.kernels;
  std::vector<internal::FreeKernel> kernels;  // by old kernel
  std::vector<int32_t> renamed;
  std::map<std::string_view, int32_t> known;
  Vec<KernelSpec> specs;
  std::vector<std::string> free_texts;
  kernels.reserve(texts.size());  // `known` points into them
  for (size_t k = 0; k < texts.size(); ++k) {
    KernelSpec spec = pools.specs[k];
    const bool has_room = static_cast<uint32_t>(spec.bindings.count) <
                          std::min(target.max_storage_buffers, kPortable.max_storage_buffers);
    kernels.push_back(has_room ? internal::free_kernel(texts[k], *spec.file, spec.bindings.count)
                               : internal::FreeKernel{texts[k], {}});
    const auto [found, added] = known.emplace(kernels.back().text, static_cast<int32_t>(free_texts.size()));
    renamed.push_back(found->second);
    if (!added) continue;
    if (!kernels.back().sizes.empty()) {
      const Range old = spec.bindings;
      spec.bindings = {static_cast<int32_t>(pools.bindings.size()), old.count + 1};
      for (int32_t i = 0; i < old.count; ++i)
        pools.bindings.push_back(BindingType(pools.bindings[static_cast<size_t>(old.first + i)]));
      pools.bindings.push_back({u32, false, false, true});
    }
    specs.push_back(spec);
    free_texts.push_back(kernels.back().text);
  }
  pools.specs = std::move(specs);
  texts = std::move(free_texts);

  const auto buffer = static_cast<int32_t>(program.buffers.size());  // of all sizes
  const size_t first_word = program.words.size();
  std::map<std::vector<uint32_t>, int32_t> placed;  // tensors of sizes
  const auto tensor_of = [&](const std::vector<uint32_t>& sizes) {
    const auto [found, added] = placed.emplace(sizes, static_cast<int32_t>(program.tensors.size()));
    if (!added) return found->second;
    while ((program.words.size() - first_word) % (target.offset_alignment / 4) != 0) program.words.push_back(0);
    TensorDecl tensor;
    tensor.dtype = u32;
    tensor.shape = Shape{static_cast<int64_t>(sizes.size())};
    tensor.buffer = buffer;
    tensor.offset = (program.words.size() - first_word) * 4;
    tensor.bytes = sizes.size() * 4;
    for (const uint32_t size : sizes) program.words.push_back(size);
    program.tensors.push_back(tensor);
    return found->second;
  };
  Vec<StepBinding> bindings;
  for (Step& step : program.steps) {
    const auto first = static_cast<int32_t>(bindings.size());
    for (const StepBinding& binding : slice(span_of(program.bindings), step.bindings)) bindings.push_back(binding);
    const std::vector<uint32_t>& sizes = kernels[static_cast<size_t>(step.kernel)].sizes;
    if (!sizes.empty()) bindings.push_back({tensor_of(sizes), false});
    step.bindings = {first, static_cast<int32_t>(bindings.size()) - first};
    step.kernel = renamed[static_cast<size_t>(step.kernel)];
  }
  program.bindings = std::move(bindings);
  if (placed.empty()) return;
  BufferDecl decl;
  decl.role = BufferRole::constant;
  decl.words = {static_cast<int32_t>(first_word), static_cast<int32_t>(program.words.size() - first_word)};
  decl.bytes = (4 * static_cast<uint64_t>(decl.words.count) + 15) / 16 * 16;
  program.buffers.push_back(decl);
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_FREE_SIZES_H_
