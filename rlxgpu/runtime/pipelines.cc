#include "rlxgpu/runtime/pipelines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/device_state.h"

namespace rlxgpu::core::internal {
namespace {

constexpr size_t kMostFutures = 64;  // of one WaitAny with a timeout
// So many are made here and now: they would share no time, and Dawn's thread, which is begun for the others, sleeps up
// to 100 ms before a process may end.
constexpr size_t kFew = 3;

struct Pending {
  wgpu::Future future;
  std::vector<size_t> requests;  // those that want this pipeline
  std::string key;
  bool done = false;
  wgpu::ComputePipeline pipeline;
  absl::Status status;
};

std::string name_of(size_t index, const KernelRequest& request) {
  return absl::StrCat("kernel ", index, " \"", request.label, "\"");
}

}  // namespace

absl::StatusOr<Layout> Pipelines::layout(DeviceState& device, const Signature& signature) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = layouts_.find(signature); found != layouts_.end()) return found->second;
  }
  std::vector<wgpu::BindGroupLayoutEntry> entries(signature.writes.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].binding = static_cast<uint32_t>(i);
    entries[i].visibility = wgpu::ShaderStage::Compute;
    entries[i].buffer.type =
        signature.writes[i] == 'w' ? wgpu::BufferBindingType::Storage : wgpu::BufferBindingType::ReadOnlyStorage;
  }
  const std::string label = absl::StrCat(signature.writes, "/", signature.immediate_bytes);
  ErrorCapture errors(device);
  Layout layout;
  wgpu::BindGroupLayoutDescriptor group{};
  group.label = std::string_view(label);
  group.entryCount = entries.size();
  group.entries = entries.data();
  layout.group = device.device.CreateBindGroupLayout(&group);
  wgpu::PipelineLayoutDescriptor pipeline{};
  pipeline.label = std::string_view(label);
  pipeline.bindGroupLayoutCount = 1;
  pipeline.bindGroupLayouts = &layout.group;
  pipeline.immediateSize = signature.immediate_bytes;
  layout.pipeline = device.device.CreatePipelineLayout(&pipeline);
  if (absl::Status status = errors.status(absl::StrCat("layout ", label)); !status.ok()) return status;
  if (absl::Status status = device.loss_status(); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  return layouts_.emplace(signature, layout).first->second;
}

absl::StatusOr<std::vector<wgpu::ComputePipeline>> Pipelines::create(
    DeviceState& device, std::span<const KernelRequest> requests,
    const std::function<void(int, std::string_view)>& progress, const std::function<bool()>& cancelled) {
  std::vector<wgpu::ComputePipeline> pipelines(requests.size());
  std::vector<std::unique_ptr<Pending>> pending;  // stays where it is: callbacks write into it
  std::unordered_map<std::string, Pending*> by_key;
  absl::Status failure;
  int done = 0;
  const auto finish = [&](size_t request, const wgpu::ComputePipeline& pipeline) {
    pipelines[request] = pipeline;
    if (progress) progress(++done, requests[request].label);
  };

  for (size_t i = 0; i < requests.size() && failure.ok(); ++i) {
    const KernelRequest& request = requests[i];
    if (cancelled && cancelled()) {
      failure = absl::CancelledError("the creation was cancelled");
      break;
    }
    std::string key =
        absl::StrCat(request.signature.writes, "/", request.signature.immediate_bytes, "\n", request.wgsl);
    if (wgpu::ComputePipeline known = find(key)) {
      finish(i, known);
      continue;
    }
    if (const auto same = by_key.find(key); same != by_key.end()) {
      same->second->requests.push_back(i);
      continue;
    }
    absl::StatusOr<Layout> layout = this->layout(device, request.signature);
    if (!layout.ok()) {
      failure = layout.status();
      break;
    }
    ErrorCapture errors(device);
    wgpu::ShaderSourceWGSL source{};
    source.code = request.wgsl;
    wgpu::ShaderModuleDescriptor module{};
    module.nextInChain = &source;
    module.label = std::string_view(request.label);
    wgpu::ComputePipelineDescriptor descriptor{};
    descriptor.label = std::string_view(request.label);
    descriptor.layout = layout->pipeline;
    descriptor.compute.module = device.device.CreateShaderModule(&module);
    if (failure = errors.status(name_of(i, request)); !failure.ok()) break;
    auto& entry = pending.emplace_back(std::make_unique<Pending>());
    entry->key = std::move(key);
    entry->requests = {i};
    by_key.emplace(entry->key, entry.get());
    if (requests.size() <= kFew) {
      entry->pipeline = device.device.CreateComputePipeline(&descriptor);
      entry->done = true;
      if (failure = errors.status(name_of(i, request)); !failure.ok()) break;
      continue;
    }
    entry->future = device.device.CreateComputePipelineAsync(
        &descriptor, wgpu::CallbackMode::WaitAnyOnly,
        [entry = entry.get()](wgpu::CreatePipelineAsyncStatus status, wgpu::ComputePipeline pipeline,
                              wgpu::StringView message) {
          entry->done = true;
          entry->pipeline = std::move(pipeline);
          const std::string_view text = message;
          if (status == wgpu::CreatePipelineAsyncStatus::Success) return;
          entry->status = status == wgpu::CreatePipelineAsyncStatus::ValidationError ? absl::InvalidArgumentError(text)
                                                                                     : absl::InternalError(text);
        });
  }

  // All are waited for, even after a failure: their callbacks write into `pending`.
  std::vector<Pending*> open;
  for (const auto& entry : pending) {
    if (!entry->done) {
      open.push_back(entry.get());
    } else if (failure.ok()) {
      keep(entry->key, entry->pipeline);
      for (const size_t request : entry->requests) finish(request, entry->pipeline);
    }
  }
  while (!open.empty()) {
    std::vector<wgpu::FutureWaitInfo> waits(std::min(open.size(), kMostFutures));
    for (size_t i = 0; i < waits.size(); ++i) waits[i].future = open[i]->future;
    const wgpu::WaitStatus waited = device.wait_any(waits);
    std::vector<Pending*> rest;
    for (Pending* entry : open) {
      if (!entry->done && waited == wgpu::WaitStatus::Success) {
        rest.push_back(entry);
        continue;
      }
      if (entry->status.ok() && !entry->pipeline) entry->status = absl::InternalError("WaitAny failed");
      const size_t first = entry->requests[0];
      if (!entry->status.ok()) {
        if (failure.ok()) {
          failure = absl::Status(entry->status.code(),
                                 absl::StrCat(name_of(first, requests[first]), ": ", entry->status.message()));
        }
        continue;
      }
      keep(entry->key, entry->pipeline);
      for (const size_t request : entry->requests) finish(request, entry->pipeline);
    }
    open = std::move(rest);
  }
  if (absl::Status lost = device.loss_status(); !lost.ok()) return lost;
  if (!failure.ok()) return failure;
  return pipelines;
}

void Pipelines::clear() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
  uses_.clear();
  layouts_.clear();
}

wgpu::ComputePipeline Pipelines::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found == kept_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return found->second.pipeline;
}

void Pipelines::keep(const std::string& key, const wgpu::ComputePipeline& pipeline) {
  const std::lock_guard lock(mutex_);
  if (kept_.contains(key)) return;
  uses_.push_front(key);
  kept_[key] = {pipeline, uses_.begin()};
  if (kept_.size() > kKept) {
    kept_.erase(uses_.back());
    uses_.pop_back();
  }
}

}  // namespace rlxgpu::core::internal
