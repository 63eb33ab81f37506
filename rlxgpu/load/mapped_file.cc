#include "rlxgpu/load/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace rlxgpu::core {

struct MappedFile::Mapping {
  void* address = nullptr;
  size_t size = 0;
  ~Mapping() {
    if (address != nullptr) munmap(address, size);
  }
};

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, path);
  const absl::Cleanup close_it = [file] { ::close(file); };  // the mapping stays
  struct stat facts = {};
  if (fstat(file, &facts) != 0) return absl::ErrnoToStatus(errno, path);
  if (!S_ISREG(facts.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": not a file"));
  auto mapping = std::make_shared<Mapping>();
  mapping->size = static_cast<size_t>(facts.st_size);
  if (mapping->size > 0) {
    void* const address = mmap(nullptr, mapping->size, PROT_READ, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED) return absl::ErrnoToStatus(errno, path);
    mapping->address = address;
  }
  return MappedFile(std::move(mapping));
}

std::span<const std::byte> MappedFile::bytes() const {
  return {static_cast<const std::byte*>(mapping_->address), mapping_->size};
}

}  // namespace rlxgpu::core
