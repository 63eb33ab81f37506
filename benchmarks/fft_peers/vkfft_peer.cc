#include "benchmarks/fft_peers/vkfft_peer.h"

#include <vulkan/vulkan.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "glslang_c_interface.h"
#include "vkFFT.h"

namespace rlxgpu::core::peers {
namespace {

void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "%s: Vulkan says %d\n", what, static_cast<int>(result));
  std::exit(1);
}

}  // namespace

struct VkFftPeer::State {
  VkInstance instance = {};
  VkPhysicalDevice adapter = {};
  VkDevice device = {};
  VkQueue queue = {};
  VkCommandPool pool = {};
  VkFence fence = {};
  VkBuffer buffer = {};
  VkDeviceMemory memory = {};
  VkCommandBuffer commands = {};
  VkFFTApplication app = {};
  bool ready = false;

  void release() {
    if (!ready) return;
    vkFreeCommandBuffers(device, pool, 1, &commands);
    deleteVkFFT(&app);
    vkDestroyBuffer(device, buffer, nullptr);
    vkFreeMemory(device, memory, nullptr);
    ready = false;
  }
  void submit() {
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1, submit.pCommandBuffers = &commands;
    check(vkQueueSubmit(queue, 1, &submit, fence), "submit");
    check(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX), "wait");
    check(vkResetFences(device, 1, &fence), "fence");
  }
};

VkFftPeer::VkFftPeer() : state_(std::make_unique<State>()) {
  State& s = *state_;
  VkApplicationInfo app{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  app.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo instance{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  instance.pApplicationInfo = &app;
  check(vkCreateInstance(&instance, nullptr, &s.instance), "instance");
  uint32_t count = 1;
  vkEnumeratePhysicalDevices(s.instance, &count, &s.adapter);
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueCount = 1, queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo device{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  device.queueCreateInfoCount = 1, device.pQueueCreateInfos = &queue;
  check(vkCreateDevice(s.adapter, &device, nullptr, &s.device), "device");
  vkGetDeviceQueue(s.device, 0, 0, &s.queue);
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  check(vkCreateCommandPool(s.device, &pool, nullptr, &s.pool), "pool");
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(vkCreateFence(s.device, &fence, nullptr, &s.fence), "fence");
  glslang_initialize_process();
}

VkFftPeer::~VkFftPeer() {
  state_->release();
  glslang_finalize_process();
  vkDestroyFence(state_->device, state_->fence, nullptr);
  vkDestroyCommandPool(state_->device, state_->pool, nullptr);
  vkDestroyDevice(state_->device, nullptr);
  vkDestroyInstance(state_->instance, nullptr);
}

std::string VkFftPeer::device_name() const {
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(state_->adapter, &properties);
  return properties.deviceName;
}

std::vector<std::complex<float>> VkFftPeer::prepare(int64_t n, int64_t rows,
                                                    const std::vector<std::complex<float>>& x) {
  State& s = *state_;
  s.release();
  VkBufferCreateInfo buffer{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  buffer.size = x.size() * sizeof(x[0]);
  buffer.usage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  check(vkCreateBuffer(s.device, &buffer, nullptr, &s.buffer), "buffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(s.device, s.buffer, &needs);
  VkPhysicalDeviceMemoryProperties kinds;
  vkGetPhysicalDeviceMemoryProperties(s.adapter, &kinds);
  VkMemoryAllocateInfo memory{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  memory.allocationSize = needs.size;
  const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (uint32_t i = kinds.memoryTypeCount; i-- > 0;) {
    if ((needs.memoryTypeBits >> i & 1) && (kinds.memoryTypes[i].propertyFlags & wanted) == wanted)
      memory.memoryTypeIndex = i;
  }
  check(vkAllocateMemory(s.device, &memory, nullptr, &s.memory), "memory");
  check(vkBindBufferMemory(s.device, s.buffer, s.memory, 0), "bind");
  void* mapped = nullptr;
  check(vkMapMemory(s.device, s.memory, 0, VK_WHOLE_SIZE, 0, &mapped), "map");
  std::memcpy(mapped, x.data(), buffer.size);

  VkFFTConfiguration configuration = {};
  configuration.FFTdim = 1;
  configuration.size[0] = static_cast<uint64_t>(n);
  configuration.numberBatches = static_cast<uint64_t>(rows);
  configuration.physicalDevice = &s.adapter;
  configuration.device = &s.device;
  configuration.queue = &s.queue;
  configuration.commandPool = &s.pool;
  configuration.fence = &s.fence;
  configuration.isCompilerInitialized = 1;
  uint64_t bytes = buffer.size;
  configuration.buffer = &s.buffer;
  configuration.bufferSize = &bytes;
  s.app = {};
  const VkFFTResult made = initializeVkFFT(&s.app, configuration);
  if (made != VKFFT_SUCCESS) {
    std::fprintf(stderr, "VkFFT: %d for %lld points\n", static_cast<int>(made), static_cast<long long>(n));
    return {};
  }
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = s.pool, allocate.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(s.device, &allocate, &s.commands), "commands");
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(s.commands, &begin), "begin");
  VkFFTLaunchParams launch = {};
  launch.commandBuffer = &s.commands;
  launch.buffer = &s.buffer;
  const VkFFTResult recorded = VkFFTAppend(&s.app, -1, &launch);
  check(vkEndCommandBuffer(s.commands), "end");
  s.ready = true;
  if (recorded != VKFFT_SUCCESS) {
    std::fprintf(stderr, "VkFFT: %d when recording\n", static_cast<int>(recorded));
    return {};
  }
  s.submit();
  std::vector<std::complex<float>> y(x.size());
  std::memcpy(y.data(), mapped, buffer.size);
  std::memset(mapped, 0, buffer.size);  // so that repeated transforms do not overflow
  vkUnmapMemory(s.device, s.memory);
  return y;
}

double VkFftPeer::run() {
  const auto start = std::chrono::steady_clock::now();
  state_->submit();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace rlxgpu::core::peers
