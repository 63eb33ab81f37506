// A Vulkan layer that asks the driver what it made of every compute pipeline, and writes one line of JSON for each:
//
//   {"gpu": "AMD Radeon RX 7900 XTX", "subgroup": 64, "statistics": {"VGPRs": 96, ...}, "listing": "..."}
//
//   RLXGPU_STATISTICS=FILE VK_ADD_LAYER_PATH=FOLDER VK_INSTANCE_LAYERS=VK_LAYER_RLXGPU_statistics PROGRAM
//
// FOLDER holds statistics_layer.json, which names this library. The extension behind it is
// VK_KHR_pipeline_executable_properties; of a driver that lacks it nothing is written. Any program's pipelines are seen
// so, also those of other libraries. Without RLXGPU_STATISTICS the layer changes nothing.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Device {
  PFN_vkGetDeviceProcAddr next = nullptr;
  PFN_vkCreateComputePipelines create = nullptr;
  PFN_vkGetPipelineExecutablePropertiesKHR executables = nullptr;
  PFN_vkGetPipelineExecutableStatisticsKHR statistics = nullptr;
  PFN_vkGetPipelineExecutableInternalRepresentationsKHR representations = nullptr;
  std::string gpu;
};

std::mutex mutex;
PFN_vkGetInstanceProcAddr next_of_instance = nullptr;
VkInstance instance = VK_NULL_HANDLE;
std::map<void*, Device> devices;  // by the loader's table, which handles of one device share

void* table_of(VkDevice device) { return *reinterpret_cast<void**>(device); }
Device& find(VkDevice device) {
  const std::lock_guard lock(mutex);
  return devices[table_of(device)];
}

template <typename Function>
void get(Function& function, VkDevice device, PFN_vkGetDeviceProcAddr next, const char* name) {
  function = reinterpret_cast<Function>(next(device, name));
}
template <typename Function>
Function of_instance(PFN_vkGetInstanceProcAddr next, const char* name) {
  return reinterpret_cast<Function>(next(instance, name));
}

// Where the loader says what comes after this layer.
template <typename Info>
Info* link_in(const void* chain, VkStructureType type) {
  for (auto* at = static_cast<const VkBaseInStructure*>(chain); at != nullptr; at = at->pNext) {
    auto* const info = reinterpret_cast<Info*>(const_cast<VkBaseInStructure*>(at));
    if (at->sType == type && info->function == VK_LAYER_LINK_INFO) return info;
  }
  return nullptr;
}

// Structures for the driver to fill in.
template <typename Structure>
std::vector<Structure> empty(uint32_t count, VkStructureType type) {
  std::vector<Structure> all(count, Structure{});
  for (Structure& one : all) one.sType = type;
  return all;
}

std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    char code[8];
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 32) {
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      json += code;
    } else {
      json += c;
    }
  }
  return json + '"';
}

std::string value_of(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return std::to_string(statistic.value.b32);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return std::to_string(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
      return std::to_string(statistic.value.f64);
    default:
      return std::to_string(statistic.value.u64);
  }
}

// The driver's texts of one executable, each under its name.
std::string listing_of(const Device& of, VkDevice device, const VkPipelineExecutableInfoKHR& executable) {
  uint32_t count = 0;
  of.representations(device, &executable, &count, nullptr);
  auto texts = empty<VkPipelineExecutableInternalRepresentationKHR>(
      count, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR);
  of.representations(device, &executable, &count, texts.data());
  std::vector<std::string> memory(count);
  for (uint32_t i = 0; i < count; ++i) {
    memory[i].resize(texts[i].dataSize);
    texts[i].pData = memory[i].data();
  }
  of.representations(device, &executable, &count, texts.data());
  std::string listing;
  for (uint32_t i = 0; i < count; ++i) {
    if (texts[i].isText) listing += std::string("==== ") + texts[i].name + "\n" + memory[i].c_str() + "\n";
  }
  return listing;
}

std::string describe(const Device& of, VkDevice device, VkPipeline pipeline) {
  const VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pNext = nullptr, .pipeline = pipeline};
  uint32_t count = 0;
  of.executables(device, &info, &count, nullptr);
  auto properties =
      empty<VkPipelineExecutablePropertiesKHR>(count, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR);
  of.executables(device, &info, &count, properties.data());
  std::string lines;
  for (uint32_t i = 0; i < count; ++i) {
    const VkPipelineExecutableInfoKHR executable = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                                    .pNext = nullptr,
                                                    .pipeline = pipeline,
                                                    .executableIndex = i};
    uint32_t numbers = 0;
    of.statistics(device, &executable, &numbers, nullptr);
    auto statistics =
        empty<VkPipelineExecutableStatisticKHR>(numbers, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR);
    of.statistics(device, &executable, &numbers, statistics.data());
    lines += "{\"gpu\": " + quoted(of.gpu) + ", \"executable\": " + quoted(properties[i].name) +
             ", \"subgroup\": " + std::to_string(properties[i].subgroupSize) + ", \"statistics\": {";
    for (uint32_t n = 0; n < numbers; ++n)
      lines += (n > 0 ? ", " : "") + quoted(statistics[n].name) + ": " + value_of(statistics[n]);
    lines += "}, \"listing\": " + quoted(listing_of(of, device, executable)) + "}\n";
  }
  return lines;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* memory,
                                               VkInstance* made) {
  auto* const link = link_in<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  next_of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(next_of_instance(nullptr, "vkCreateInstance"));
  const VkResult result = create(info, memory, made);
  if (result == VK_SUCCESS) instance = *made;
  return result;
}

// Adds the extension and its feature to what the program asks for.
VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* memory, VkDevice* made) {
  auto* const link = link_in<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_vkGetDeviceProcAddr next_of_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;

  uint32_t count = 0;
  const auto list = of_instance<PFN_vkEnumerateDeviceExtensionProperties>(next, "vkEnumerateDeviceExtensionProperties");
  list(physical, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> offered(count);
  list(physical, nullptr, &count, offered.data());
  bool there = false;
  for (const VkExtensionProperties& extension : offered)
    there |= std::strcmp(extension.extensionName, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME) == 0;

  VkDeviceCreateInfo more = *info;
  std::vector<const char*> names(info->ppEnabledExtensionNames,
                                 info->ppEnabledExtensionNames + info->enabledExtensionCount);
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR feature = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
      .pNext = const_cast<void*>(info->pNext),
      .pipelineExecutableInfo = VK_TRUE};
  there = there && std::getenv("RLXGPU_STATISTICS") != nullptr;
  if (there) {
    names.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    more.enabledExtensionCount = static_cast<uint32_t>(names.size());
    more.ppEnabledExtensionNames = names.data();
    more.pNext = &feature;
  }
  const VkResult result = of_instance<PFN_vkCreateDevice>(next, "vkCreateDevice")(physical, &more, memory, made);
  if (result != VK_SUCCESS) return result;
  Device device;
  device.next = next_of_device;
  get(device.create, *made, next_of_device, "vkCreateComputePipelines");
  if (there) {
    get(device.executables, *made, next_of_device, "vkGetPipelineExecutablePropertiesKHR");
    get(device.statistics, *made, next_of_device, "vkGetPipelineExecutableStatisticsKHR");
    get(device.representations, *made, next_of_device, "vkGetPipelineExecutableInternalRepresentationsKHR");
  }
  VkPhysicalDeviceProperties properties;
  of_instance<PFN_vkGetPhysicalDeviceProperties>(next, "vkGetPhysicalDeviceProperties")(physical, &properties);
  device.gpu = properties.deviceName;
  const std::lock_guard lock(mutex);
  devices[table_of(*made)] = device;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                const VkComputePipelineCreateInfo* infos,
                                                const VkAllocationCallbacks* memory, VkPipeline* made) {
  const Device& of = find(device);
  if (of.executables == nullptr) return of.create(device, cache, count, infos, memory, made);
  std::vector<VkComputePipelineCreateInfo> asking(infos, infos + count);
  for (VkComputePipelineCreateInfo& info : asking) {
    info.flags |=
        VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
  }
  // Without the cache: it would hide what the compiler does, and NVK fails when its contents are asked for.
  const VkResult result = of.create(device, VK_NULL_HANDLE, count, asking.data(), memory, made);
  if (result != VK_SUCCESS) return result;
  std::string lines;
  for (uint32_t i = 0; i < count; ++i) lines += describe(of, device, made[i]);
  const std::lock_guard lock(mutex);
  if (std::FILE* const file = std::fopen(std::getenv("RLXGPU_STATISTICS"), "a")) {
    std::fwrite(lines.data(), 1, lines.size(), file);
    std::fclose(file);
  }
  return result;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_device(VkDevice device, const char* name) {
  const std::string_view wanted = name;
  if (wanted == "vkGetDeviceProcAddr") return reinterpret_cast<PFN_vkVoidFunction>(of_device);
  if (wanted == "vkCreateComputePipelines") return reinterpret_cast<PFN_vkVoidFunction>(create_pipelines);
  return find(device).next(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_any(VkInstance of, const char* name) {
  const std::string_view wanted = name;
  if (wanted == "vkGetInstanceProcAddr") return reinterpret_cast<PFN_vkVoidFunction>(of_any);
  if (wanted == "vkGetDeviceProcAddr") return reinterpret_cast<PFN_vkVoidFunction>(of_device);
  if (wanted == "vkCreateInstance") return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
  if (wanted == "vkCreateDevice") return reinterpret_cast<PFN_vkVoidFunction>(create_device);
  if (wanted == "vkCreateComputePipelines") return reinterpret_cast<PFN_vkVoidFunction>(create_pipelines);
  return next_of_instance != nullptr ? next_of_instance(of, name) : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  if (version->loaderLayerInterfaceVersion > 2) version->loaderLayerInterfaceVersion = 2;
  version->pfnGetInstanceProcAddr = of_any;
  version->pfnGetDeviceProcAddr = of_device;
  version->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
