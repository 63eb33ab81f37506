#include "rlxgpu/load/mapped_file.h"

#include <cerrno>
#include <fstream>
#include <ios>
#include <limits>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#if (defined(__unix__) || defined(__APPLE__)) && !defined(RLXGPU_NO_POSIX)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

#else  // read as a whole

namespace rlxgpu::core {

struct MappedFile::Mapping {
  std::vector<char> bytes;
};

Result<MappedFile> MappedFile::open(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (!file) return absl::ErrnoToStatus(errno != 0 ? errno : ENOENT, path);
  if (size < 0 || size == std::numeric_limits<std::streamoff>::max()) {  // a folder
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a file"));
  }
  auto mapping = std::make_shared<Mapping>();
  mapping->bytes.resize(static_cast<size_t>(size));
  file.seekg(0);
  if (size > 0 && !file.read(mapping->bytes.data(), size)) {
    return absl::DataLossError(absl::StrCat(path, ": cannot be read"));
  }
  return MappedFile(std::move(mapping));
}

std::span<const std::byte> MappedFile::bytes() const { return std::as_bytes(std::span(mapping_->bytes)); }

}  // namespace rlxgpu::core

#endif
