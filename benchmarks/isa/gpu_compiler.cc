#include "benchmarks/isa/gpu_compiler.h"

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "vulkan/vulkan.h"

namespace rlxgpu::core::isa {
namespace {

absl::Status status_of(VkResult result, std::string_view what) {
  if (result == VK_SUCCESS) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(what, " failed: VkResult ", static_cast<int>(result)));
}

template <typename Function>
Function function_of(VkDevice device, const char* name) {
  return reinterpret_cast<Function>(vkGetDeviceProcAddr(device, name));
}

}  // namespace

struct GpuCompiler::State {
  VkInstance instance = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  std::string name;

  ~State() {
    if (device != VK_NULL_HANDLE) vkDestroyDevice(device, nullptr);
    if (instance != VK_NULL_HANDLE) vkDestroyInstance(instance, nullptr);
  }
};

absl::StatusOr<GpuCompiler> GpuCompiler::open() {
  GpuCompiler compiler;
  compiler.state_ = std::make_shared<State>();
  State& state = *compiler.state_;
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo instance{};
  instance.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  instance.pApplicationInfo = &application;
  if (absl::Status s = status_of(vkCreateInstance(&instance, nullptr, &state.instance), "vkCreateInstance"); !s.ok())
    return s;

  uint32_t count = 1;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  vkEnumeratePhysicalDevices(state.instance, &count, &physical);
  if (count == 0 || physical == VK_NULL_HANDLE) return absl::NotFoundError("there is no Vulkan device");
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(physical, &properties);
  state.name = properties.deviceName;

  // Every feature that the device has.
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{};
  matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable{};
  executable.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
  executable.pNext = &matrix;
  VkPhysicalDeviceVulkan13Features v13{};
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  v13.pNext = &executable;
  VkPhysicalDeviceVulkan12Features v12{};
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v12.pNext = &v13;
  VkPhysicalDeviceVulkan11Features v11{};
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v11.pNext = &v12;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &v11;
  vkGetPhysicalDeviceFeatures2(physical, &features);
  if (!executable.pipelineExecutableInfo)
    return absl::UnimplementedError(absl::StrCat(state.name, " shows no instructions"));

  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  std::vector<const char*> extensions = {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME};
  if (matrix.cooperativeMatrix) extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  VkDeviceCreateInfo device{};
  device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  device.pNext = &features;
  device.queueCreateInfoCount = 1;
  device.pQueueCreateInfos = &queue;
  device.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  device.ppEnabledExtensionNames = extensions.data();
  if (absl::Status s = status_of(vkCreateDevice(physical, &device, nullptr, &state.device), "vkCreateDevice"); !s.ok())
    return s;
  return compiler;
}

const std::string& GpuCompiler::device() const { return state_->name; }

absl::StatusOr<CompiledKernel> GpuCompiler::compile(std::span<const uint32_t> spirv, const KernelLayout& layout) const {
  const VkDevice device = state_->device;
  struct Objects {  // destroyed however this ends
    VkDevice device;
    VkShaderModule module = VK_NULL_HANDLE;
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
    ~Objects() {
      vkDestroyPipeline(device, pipeline, nullptr);
      vkDestroyPipelineLayout(device, layout, nullptr);
      vkDestroyDescriptorSetLayout(device, set, nullptr);
      vkDestroyShaderModule(device, module, nullptr);
    }
  } objects{device};

  VkShaderModuleCreateInfo module{};
  module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module.codeSize = spirv.size_bytes();
  module.pCode = spirv.data();
  if (absl::Status s = status_of(vkCreateShaderModule(device, &module, nullptr, &objects.module), "shader module");
      !s.ok())
    return s;

  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < layout.bindings; ++i) {
    bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  }
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = layout.bindings;
  set.pBindings = bindings.data();
  if (absl::Status s = status_of(vkCreateDescriptorSetLayout(device, &set, nullptr, &objects.set), "set layout");
      !s.ok())
    return s;
  const VkPushConstantRange immediates = {VK_SHADER_STAGE_COMPUTE_BIT, 0, layout.immediate_bytes};
  VkPipelineLayoutCreateInfo pipeline_layout{};
  pipeline_layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  pipeline_layout.setLayoutCount = 1;
  pipeline_layout.pSetLayouts = &objects.set;
  pipeline_layout.pushConstantRangeCount = layout.immediate_bytes > 0 ? 1 : 0;
  pipeline_layout.pPushConstantRanges = &immediates;
  if (absl::Status s = status_of(vkCreatePipelineLayout(device, &pipeline_layout, nullptr, &objects.layout), "layout");
      !s.ok())
    return s;

  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{};
  size.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  size.requiredSubgroupSize = layout.subgroup_size;
  VkComputePipelineCreateInfo pipeline{};
  pipeline.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  pipeline.flags =
      VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
  pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  pipeline.stage.pNext = layout.subgroup_size > 0 ? &size : nullptr;
  pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline.stage.module = objects.module;
  pipeline.stage.pName = layout.entry;
  pipeline.layout = objects.layout;
  if (absl::Status s = status_of(
          vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipeline, nullptr, &objects.pipeline), "pipeline");
      !s.ok()) {
    return s;
  }

  CompiledKernel kernel;
  VkPipelineInfoKHR of_pipeline{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, nullptr, objects.pipeline};
  uint32_t count = 1;
  VkPipelineExecutablePropertiesKHR properties{};
  properties.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
  function_of<PFN_vkGetPipelineExecutablePropertiesKHR>(device, "vkGetPipelineExecutablePropertiesKHR")(
      device, &of_pipeline, &count, &properties);
  kernel.subgroup_size = properties.subgroupSize;

  VkPipelineExecutableInfoKHR of_executable{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr, objects.pipeline,
                                            0};
  const auto get_statistics =
      function_of<PFN_vkGetPipelineExecutableStatisticsKHR>(device, "vkGetPipelineExecutableStatisticsKHR");
  get_statistics(device, &of_executable, &count, nullptr);
  VkPipelineExecutableStatisticKHR statistic{};
  statistic.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  std::vector<VkPipelineExecutableStatisticKHR> statistics(count, statistic);
  get_statistics(device, &of_executable, &count, statistics.data());
  for (const VkPipelineExecutableStatisticKHR& s : statistics) kernel.statistics[s.name] = s.value.u64;

  const auto get_texts = function_of<PFN_vkGetPipelineExecutableInternalRepresentationsKHR>(
      device, "vkGetPipelineExecutableInternalRepresentationsKHR");
  get_texts(device, &of_executable, &count, nullptr);
  VkPipelineExecutableInternalRepresentationKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
  std::vector<VkPipelineExecutableInternalRepresentationKHR> texts(count, empty);
  get_texts(device, &of_executable, &count, texts.data());
  std::vector<std::string> storage(count);
  for (uint32_t i = 0; i < count; ++i) {
    storage[i].resize(texts[i].dataSize);
    texts[i].pData = storage[i].data();
  }
  get_texts(device, &of_executable, &count, texts.data());
  for (uint32_t i = 0; i < count; ++i) {
    if (std::string_view(texts[i].name).find("ssembly") != std::string_view::npos) kernel.listing = storage[i];
  }
  if (kernel.listing.empty()) return absl::UnimplementedError("the driver gives no listing");
  return kernel;
}

}  // namespace rlxgpu::core::isa
