// MappedFile: a file's bytes in memory, read by the system as they are touched.
//
//   Result<MappedFile> file = MappedFile::open("model.safetensors");
//   std::span<const std::byte> bytes = file->bytes();           // valid while any copy of *file lives
//
// Copies are cheap and mean the same memory. A file that another program cuts short while it is mapped cannot be read
// safely by anyone: replace model files by renaming, as write_safetensors does.
#ifndef RLXGPU_LOAD_MAPPED_FILE_H_
#define RLXGPU_LOAD_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  std::span<const std::byte> bytes() const;

 private:
  struct Mapping;
  explicit MappedFile(std::shared_ptr<const Mapping> mapping) : mapping_(std::move(mapping)) {}
  std::shared_ptr<const Mapping> mapping_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::MappedFile;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_MAPPED_FILE_H_
