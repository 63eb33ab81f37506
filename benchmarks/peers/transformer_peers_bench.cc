// The ops of a transformer by rlxgpu and by ggml's Vulkan backend on the same adapter, interleaved, best of many, with
// the ratios that issue 4 asks for.
//
//   ./dev bench peers                                 all of them
//   ./dev bench peers --rounds=20 --filter=softmax    more chances for a quiet moment, some of them
//
// Ratios are ggml's time over ours, for wall time and for processor time; the latter counts when others use the
// machine. ggml runs in processes of its own, with and without matrix units, attention over f32 and over f16 keys; its
// best time counts. Ours are f32.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/peers/ggml_peer.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::peers {
namespace {

// One op, in both worlds. ggml's shapes have the fastest axis first.
struct Case {
  std::string_view name;
  double bar;
  Tensor (*ours)(Builder& g);
  ggml_tensor* (*theirs)(ggml_context* context, ggml_type kv);
};

ggml_tensor* square(ggml_context* c) { return ggml_new_tensor_2d(c, GGML_TYPE_F32, 1024, 1024); }
Tensor square(Builder& g) { return g.input("x", f32, {1024, 1024}); }

Tensor attend(Builder& g, int64_t heads, int64_t kv_heads, int64_t queries, int64_t keys, int64_t size) {
  const Tensor q = g.input("q", f32, {1, heads, queries, size}), k = g.input("k", f32, {1, kv_heads, keys, size});
  return attention(q, k, g.input("v", f32, {1, kv_heads, keys, size}));
}
ggml_tensor* attend(ggml_context* c, ggml_type kv, int64_t heads, int64_t kv_heads, int64_t queries, int64_t keys,
                    int64_t size) {
  ggml_tensor* const q = ggml_new_tensor_3d(c, GGML_TYPE_F32, size, queries, heads);
  ggml_tensor* const k = ggml_new_tensor_3d(c, kv, size, keys, kv_heads);
  return ggml_flash_attn_ext(c, q, k, ggml_new_tensor_3d(c, kv, size, keys, kv_heads), nullptr, 0.125f, 0, 0);
}

constexpr Case kCases[] = {
    {"softmax 1024x1024", 8, [](Builder& g) { return softmax(square(g)); },
     [](ggml_context* c, ggml_type) { return ggml_soft_max(c, square(c)); }},
    {"layer_norm 1024x1024", 15, [](Builder& g) { return layer_norm(square(g)); },
     [](ggml_context* c, ggml_type) { return ggml_norm(c, square(c), 1e-5f); }},
    {"rms_norm 1024x1024", 15, [](Builder& g) { return rms_norm(square(g)); },
     [](ggml_context* c, ggml_type) { return ggml_rms_norm(c, square(c), 1e-5f); }},
    {"transpose 1024x1024", 10, [](Builder& g) { return transpose(square(g)); },
     [](ggml_context* c, ggml_type) { return ggml_cont(c, ggml_transpose(c, square(c))); }},
    {"sum of 1M", 2, [](Builder& g) { return sum(square(g)); },
     [](ggml_context* c, ggml_type) { return ggml_sum(c, square(c)); }},
    {"attention H4 D64 S512", 15, [](Builder& g) { return attend(g, 4, 4, 512, 512, 64); },
     [](ggml_context* c, ggml_type kv) { return attend(c, kv, 4, 4, 512, 512, 64); }},
    {"attention H4 D64 S1024", 10, [](Builder& g) { return attend(g, 4, 4, 1024, 1024, 64); },
     [](ggml_context* c, ggml_type kv) { return attend(c, kv, 4, 4, 1024, 1024, 64); }},
    {"decode attention H8 GQA4 4096", 3, [](Builder& g) { return attend(g, 8, 2, 1, 4096, 64); },
     [](ggml_context* c, ggml_type kv) { return attend(c, kv, 8, 2, 1, 4096, 64); }},
};

class OurOp {
 public:
  OurOp(const Device& device, const Case& c) : device_(device) {
    DynamicGraph graph;
    graph->output("y", c.ours(*graph));
    DynamicOptions options;
    options.tuned = false;
    options.sizes = Sizes::baked;
    auto executable = Executable<DynamicGraph>::create(device, graph, options);
    if (!executable.ok()) std::fprintf(stderr, "%s\n", executable.status().ToString().c_str()), std::exit(1);
    executable_.emplace(*std::move(executable));
    for (const Node& node : graph.graph().nodes) {
      if (node.kind != NodeKind::input) continue;
      std::vector<float> x(static_cast<size_t>(graph.graph().value(node.results.first).shape.count()));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 257) / 128 - 1;
      const Status status = executable_->set(graph.graph().name(node.name), x);
      if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str()), std::exit(1);
    }
    run();  // compiles
  }
  Timing run() {
    const Stopwatch watch;
    executable_->run();
    const Status status = device_.wait_idle();
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str()), std::exit(1);
    return watch.timing();
  }

 private:
  Device device_;
  std::optional<Executable<DynamicGraph>> executable_;
};

// A process that runs ggml's ops when it is told their numbers.
class OpPeer {
 public:
  explicit OpPeer(bool matrix_units, ggml_type kv) {
    int requests[2], answers[2];
    if (pipe(requests) != 0 || pipe(answers) != 0) return;
    process_ = fork();
    if (process_ == 0) {
      dup2(requests[0], 0), dup2(answers[1], 1);
      for (const int end : {requests[0], requests[1], answers[0], answers[1]}) close(end);
      setenv("GGML_VK_VISIBLE_DEVICES", "0", 1);  // else it passes over adapters that run on the CPU
      if (!matrix_units) setenv("GGML_VK_DISABLE_COOPMAT", "1", 1);
      execl("/proc/self/exe", "peers", std::string(kServe).c_str(), kv == GGML_TYPE_F16 ? "f16" : "f32", nullptr);
      _exit(127);
    }
    close(requests[0]), close(answers[1]);
    to_ = fdopen(requests[1], "w"), from_ = fdopen(answers[0], "r");
  }
  ~OpPeer() {
    if (to_ != nullptr) std::fclose(to_);  // ends it
    if (from_ != nullptr) std::fclose(from_);
    if (process_ > 0) waitpid(process_, nullptr, 0);
  }
  OpPeer(const OpPeer&) = delete;
  OpPeer& operator=(const OpPeer&) = delete;

  void measure(size_t number, Timing& best) {
    if (to_ == nullptr || from_ == nullptr) return;
    std::fprintf(to_, "%zu\n", number);
    Timing timing;
    if (std::fflush(to_) != 0 || std::fscanf(from_, " timing %lf %lf", &timing.wall, &timing.cpu) != 2) return;
    if (timing.wall > 0) best.best_with(timing);
  }

 private:
  pid_t process_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

struct TheirOp {
  ggml_context* context = ggml_init({ggml_tensor_overhead() * 16 + ggml_graph_overhead(), nullptr, true});
  ggml_cgraph* graph = ggml_new_graph(context);
  ggml_backend_buffer_t buffer = nullptr;

  TheirOp(ggml_backend_t backend, const Case& c, ggml_type kv) {
    ggml_build_forward_expand(graph, c.theirs(context, kv));
    buffer = ggml_backend_alloc_ctx_tensors(context, backend);
    for (ggml_tensor* t = ggml_get_first_tensor(context); buffer != nullptr && t != nullptr;
         t = ggml_get_next_tensor(context, t)) {
      if (t->op != GGML_OP_NONE) continue;
      std::vector<float> values(static_cast<size_t>(ggml_nelements(t)));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 257) / 128 - 1;
      std::vector<ggml_fp16_t> halves(values.size());
      ggml_fp32_to_fp16_row(values.data(), halves.data(), static_cast<int64_t>(values.size()));
      const void* data = t->type == GGML_TYPE_F16 ? static_cast<const void*>(halves.data()) : values.data();
      ggml_backend_tensor_set(t, data, 0, ggml_nbytes(t));
    }
  }
  ~TheirOp() {
    ggml_backend_buffer_free(buffer);
    ggml_free(context);
  }
  TheirOp(const TheirOp&) = delete;
  TheirOp& operator=(const TheirOp&) = delete;
};

int serve(std::string_view kv) {
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  const ggml_backend_reg_t reg = ggml_backend_reg_by_name("Vulkan");
  const ggml_backend_t backend = reg == nullptr || ggml_backend_reg_dev_count(reg) == 0
                                     ? nullptr
                                     : ggml_backend_dev_init(ggml_backend_reg_dev_get(reg, 0), nullptr);
  std::unique_ptr<TheirOp> op;
  size_t known = std::size(kCases), number = 0;
  while (std::scanf("%zu", &number) == 1) {
    Timing timing;
    if (backend != nullptr && number < std::size(kCases) && number != known) {
      op.reset();
      op = std::make_unique<TheirOp>(backend, kCases[number], kv == "f16" ? GGML_TYPE_F16 : GGML_TYPE_F32);
      known = number;
      if (op->buffer != nullptr) ggml_backend_graph_compute(backend, op->graph);  // compiles
    }
    if (op && op->buffer != nullptr) {
      const Stopwatch watch;
      if (ggml_backend_graph_compute(backend, op->graph) == GGML_STATUS_SUCCESS) timing = watch.timing();
    }
    std::printf("timing %.9f %.9f\n", timing.wall, timing.cpu);
    std::fflush(stdout);
  }
  return 0;
}

int run(int rounds, std::string_view filter) {
  Result<Device> device = open_device();
  if (!device.ok()) return std::fprintf(stderr, "%s\n", device.status().ToString().c_str()), 1;
  std::printf("%s, best of %d rounds; ms wall / ms processor time of all threads\n", device->label().c_str(), rounds);
  std::printf("%-28s %17s %19s %10s %12s %6s\n", "", "rlxgpu", "ggml Vulkan", "wall", "processor", "bar");
  for (size_t number = 0; number < std::size(kCases); ++number) {
    const Case& c = kCases[number];
    if (c.name.find(filter) == std::string_view::npos) continue;
    const bool attends = c.name.find("attention") != std::string_view::npos;
    OpPeer units(true, GGML_TYPE_F32), no_units(false, GGML_TYPE_F32);
    std::optional<OpPeer> half, half_no_units;
    if (attends) half.emplace(true, GGML_TYPE_F16), half_no_units.emplace(false, GGML_TYPE_F16);
    OurOp ours(*device, c);
    Timing mine, theirs;
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 5; ++i) mine.best_with(ours.run());
      units.measure(number, theirs), no_units.measure(number, theirs);
      if (attends && round < 2) half->measure(number, theirs), half_no_units->measure(number, theirs);
    }
    std::printf("%-28s %7.3f / %7.3f %8.2f / %8.2f", std::string(c.name).c_str(), mine.wall * 1e3, mine.cpu * 1e3,
                theirs.wall * 1e3, theirs.cpu * 1e3);
    if (theirs.wall > 0) {
      const double wall = theirs.wall / mine.wall, cpu = theirs.cpu / mine.cpu;
      std::printf(" %9.1fx %11.1fx %5.1fx %s", wall, cpu, c.bar,
                  wall >= c.bar  ? "holds"
                  : cpu >= c.bar ? "holds in processor time"
                                 : "MISSED");
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace rlxgpu::core::peers

int main(int argc, char** argv) {
  if (argc > 2 && argv[1] == rlxgpu::core::peers::kServe) return rlxgpu::core::peers::serve(argv[2]);
  int rounds = 9;
  std::string_view filter;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--rounds=")) rounds = std::max(1, std::atoi(argv[i] + 9));
    if (argument.starts_with("--filter=")) filter = argument.substr(9);
  }
  return rlxgpu::core::peers::run(rounds, filter);
}
