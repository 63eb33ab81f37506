#include "rlxgpu/runtime/adapter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "dawn/native/DawnNative.h"
#include "rlxgpu/graph/targets.h"
#include "rlxgpu/runtime/calibration.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/switches.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::core {
namespace internal {
namespace {

Backend backend_of(wgpu::BackendType type) {
  switch (type) {
    case wgpu::BackendType::Vulkan:
      return Backend::vulkan;
    case wgpu::BackendType::Metal:
      return Backend::metal;
    case wgpu::BackendType::D3D12:
      return Backend::d3d12;
    case wgpu::BackendType::D3D11:
      return Backend::d3d11;
    case wgpu::BackendType::OpenGL:
      return Backend::opengl;
    case wgpu::BackendType::OpenGLES:
      return Backend::opengles;
    case wgpu::BackendType::Null:
      return Backend::null;
    default:
      return Backend::any;
  }
}

wgpu::BackendType type_of(Backend backend) {
  switch (backend) {
    case Backend::any:
      return wgpu::BackendType::Undefined;
    case Backend::vulkan:
      return wgpu::BackendType::Vulkan;
    case Backend::metal:
      return wgpu::BackendType::Metal;
    case Backend::d3d12:
      return wgpu::BackendType::D3D12;
    case Backend::d3d11:
      return wgpu::BackendType::D3D11;
    case Backend::opengl:
      return wgpu::BackendType::OpenGL;
    case Backend::opengles:
      return wgpu::BackendType::OpenGLES;
    case Backend::null:
      return wgpu::BackendType::Null;
  }
  return wgpu::BackendType::Undefined;
}

AdapterClass class_of(wgpu::AdapterType type) {
  switch (type) {
    case wgpu::AdapterType::DiscreteGPU:
      return AdapterClass::discrete;
    case wgpu::AdapterType::IntegratedGPU:
      return AdapterClass::integrated;
    case wgpu::AdapterType::CPU:
      return AdapterClass::software;
    default:
      return AdapterClass::unknown;
  }
}

DType dtype_of_component(wgpu::SubgroupMatrixComponentType type) {
  switch (type) {
    case wgpu::SubgroupMatrixComponentType::F32:
      return DType::f32;
    case wgpu::SubgroupMatrixComponentType::F16:
      return DType::f16;
    case wgpu::SubgroupMatrixComponentType::U32:
      return DType::u32;
    case wgpu::SubgroupMatrixComponentType::I32:
      return DType::i32;
    case wgpu::SubgroupMatrixComponentType::U8:
      return DType::u8;
    case wgpu::SubgroupMatrixComponentType::I8:
      return DType::i8;
  }
  return DType::f32;
}

// Of an adapter, or of a device, which may have less. `info`: of its adapter, with matrices, if it has any.
template <typename Source>
AdapterInfo describe(const Source& source, const wgpu::AdapterInfo& info,
                     const wgpu::AdapterPropertiesSubgroupMatrixConfigs& matrices) {
  AdapterInfo result;
  const bool has_matrices = source.HasFeature(wgpu::FeatureName::ChromiumExperimentalSubgroupMatrix);
  result.name = std::string_view(info.device);
  result.vendor = std::string_view(info.vendor);
  result.architecture = std::string_view(info.architecture);
  result.driver = std::string_view(info.description);
  result.backend = backend_of(info.backendType);
  result.timestamps = source.HasFeature(wgpu::FeatureName::TimestampQuery);

  wgpu::SupportedFeatures features{};
  source.GetFeatures(&features);
  for (size_t i = 0; i < features.featureCount; ++i) {
    if (const auto* feature = dawn::native::GetFeatureInfo(features.features[i]))
      result.features.push_back(feature->name);
  }
  std::sort(result.features.begin(), result.features.end());

  Target& target = result.target;
  target.adapter_class = class_of(info.adapterType);
  target.shader_f16 = source.HasFeature(wgpu::FeatureName::ShaderF16);
  target.subgroups = source.HasFeature(wgpu::FeatureName::Subgroups);
  target.subgroup_size_control = source.HasFeature(wgpu::FeatureName::SubgroupSizeControl);
  if (target.subgroups) {
    target.subgroup_min = info.subgroupMinSize;
    target.subgroup_max = info.subgroupMaxSize;
  }
  for (size_t i = 0; has_matrices && i < matrices.configCount; ++i) {
    const wgpu::SubgroupMatrixConfig& config = matrices.configs[i];
    const MatrixShape shape = {dtype_of_component(config.componentType), dtype_of_component(config.resultComponentType),
                               static_cast<uint8_t>(config.M), static_cast<uint8_t>(config.N),
                               static_cast<uint8_t>(config.K)};
    MatrixShape* const end = target.matrix + target.matrix_count;
    if (std::find(target.matrix, end, shape) != end || target.matrix_count == std::size(target.matrix)) continue;
    target.matrix[target.matrix_count++] = shape;
  }
  wgpu::Limits limits{};
  source.GetLimits(&limits);
  target.max_storage_buffers = limits.maxStorageBuffersPerShaderStage;
  target.max_invocations = limits.maxComputeInvocationsPerWorkgroup;
  target.max_workgroup_bytes = limits.maxComputeWorkgroupStorageSize;
  target.max_groups = limits.maxComputeWorkgroupsPerDimension;
  target.max_immediate_bytes = limits.maxImmediateSize;
  target.offset_alignment = limits.minStorageBufferOffsetAlignment;
  target.max_binding_bytes = limits.maxStorageBufferBindingSize;
  result.max_buffer_bytes = limits.maxBufferSize;
  identify({result.vendor, result.architecture, result.name, info.deviceID}, target);
  return result;
}

AdapterInfo describe(const wgpu::Adapter& adapter) {
  wgpu::AdapterInfo info{};
  wgpu::AdapterPropertiesSubgroupMatrixConfigs matrices{};
  if (adapter.HasFeature(wgpu::FeatureName::ChromiumExperimentalSubgroupMatrix)) info.nextInChain = &matrices;
  adapter.GetInfo(&info);
  return describe(adapter, info, matrices);
}

// Smaller is better. OpenGL only when nothing else drives the same hardware.
int rank(const AdapterInfo& info, Power power) {
  const bool high = power == Power::high;
  int rank = 0;
  switch (info.target.adapter_class) {
    case AdapterClass::discrete:
      rank = high ? 0 : 1;
      break;
    case AdapterClass::integrated:
      rank = high ? 1 : 0;
      break;
    case AdapterClass::unknown:
      rank = 2;
      break;
    case AdapterClass::software:
      rank = 3;
      break;
  }
  const bool opengl = info.backend == Backend::opengl || info.backend == Backend::opengles;
  return 4 * (info.backend == Backend::d3d11 || opengl) + rank;
}

// One for the process, never released: a new one would load the drivers again (25 ms), and whatever lives until exit
// may still refer to it.
const dawn::native::Instance& instance_of(bool experimental) {
  const auto timed = wgpu::InstanceFeatureName::TimedWaitAny;
  const char* const unsafe[] = {"allow_unsafe_apis"};
  wgpu::DawnTogglesDescriptor instance_toggles{};
  instance_toggles.enabledToggleCount = experimental ? 1 : 0;
  instance_toggles.enabledToggles = unsafe;
  dawn::native::DawnInstanceDescriptor quiet{};  // else Dawn writes to stderr, for one when there is no driver
  quiet.nextInChain = &instance_toggles;
  quiet.SetLoggingCallback([](wgpu::LoggingType, wgpu::StringView) {});
  wgpu::InstanceDescriptor instance{};
  instance.nextInChain = &quiet;
  instance.requiredFeatureCount = 1;
  instance.requiredFeatures = &timed;
  static const dawn::native::Instance* instances[2] = {};  // guarded by find_adapters
  const dawn::native::Instance*& made = instances[experimental];
  if (made == nullptr) made = new dawn::native::Instance(&instance);
  return *made;
}

}  // namespace

AdapterInfo describe(const wgpu::Device& device) {
  wgpu::AdapterInfo info{};
  wgpu::AdapterPropertiesSubgroupMatrixConfigs matrices{};
  if (device.HasFeature(wgpu::FeatureName::ChromiumExperimentalSubgroupMatrix)) info.nextInChain = &matrices;
  device.GetAdapterInfo(&info);
  return describe(device, info, matrices);
}

Found find_adapters(Backend backend, Power power, bool experimental, std::string_view cache_dir) {
  static std::mutex* const mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  switches();  // says what is misspelt
  Found found;
  const dawn::native::Instance& native = instance_of(experimental);
  found.instance = wgpu::Instance(native.Get());
  const char* const f16[] = {"vulkan_enable_f16_on_nvidia"};
  wgpu::DawnTogglesDescriptor adapter_toggles{};
  adapter_toggles.enabledToggleCount = 1;
  adapter_toggles.enabledToggles = f16;
  wgpu::RequestAdapterOptions options{};
  options.nextInChain = &adapter_toggles;
  options.backendType = type_of(backend);
  options.powerPreference =
      power == Power::high ? wgpu::PowerPreference::HighPerformance : wgpu::PowerPreference::LowPower;
  for (const dawn::native::Adapter& adapter : native.EnumerateAdapters(&options)) {
    wgpu::Adapter handle(adapter.Get());
    AdapterInfo info = describe(handle);
    if (info.backend == Backend::null && backend != Backend::null) continue;
    found.adapters.push_back({std::move(handle), std::move(info)});
  }
  std::stable_sort(found.adapters.begin(), found.adapters.end(), [power](const FoundAdapter& a, const FoundAdapter& b) {
    return rank(a.info, power) < rank(b.info, power);
  });
  if (power == Power::high && backend != Backend::null && found.adapters.size() > 1 && switches().tuning) {
    const std::map<std::string, Calibration> calibrations = load_calibrations(cache_dir);
    std::vector<const Calibration*> known;
    for (const FoundAdapter& adapter : found.adapters) {
      const auto it = calibrations.find(adapter.info.label());
      known.push_back(it == calibrations.end() ? nullptr : &it->second);
    }
    std::vector<FoundAdapter> ranked;
    for (const size_t i : ranked_by_calibration(known)) ranked.push_back(std::move(found.adapters[i]));
    found.adapters = std::move(ranked);
  }
  return found;
}

}  // namespace internal

std::string AdapterInfo::label() const { return absl::StrCat(name, " / ", name_of(backend), " / ", driver); }

Result<std::vector<AdapterInfo>> list_adapters() {
  std::vector<AdapterInfo> infos;
  internal::Found found = internal::find_adapters(Backend::any, Power::high, true, {});
  for (internal::FoundAdapter& adapter : found.adapters) infos.push_back(std::move(adapter.info));
  return infos;
}

bool is_available() {
  const Result<std::vector<AdapterInfo>> adapters = list_adapters();
  return adapters.ok() && !adapters->empty();
}

}  // namespace rlxgpu::core
