#include "benchmarks/peers/ggml_peer.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"

namespace rlxgpu::core::peers {
namespace {

double seconds_of(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One product, with operands in the backend's memory.
struct Graph {
  ggml_context* context = nullptr;
  ggml_cgraph* graph = nullptr;
  ggml_backend_buffer_t buffer = nullptr;

  Graph(ggml_backend_t backend, const Product& p) {
    context = ggml_init({ggml_tensor_overhead() * 8 + ggml_graph_overhead(), nullptr, true});
    const ggml_type type = p.packed >= 0 ? static_cast<ggml_type>(p.packed) : p.half ? GGML_TYPE_F16 : GGML_TYPE_F32;
    ggml_tensor* w = ggml_new_tensor_2d(context, type, p.k, p.n);
    ggml_tensor* x = ggml_new_tensor_2d(context, GGML_TYPE_F32, p.k, p.m);
    graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, ggml_mul_mat(context, w, x));
    buffer = ggml_backend_alloc_ctx_tensors(context, backend);
    const auto fill = [](ggml_tensor* tensor) {
      std::vector<float> values(static_cast<size_t>(ggml_nelements(tensor)));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 257) / 128 - 1;
      if (tensor->type == GGML_TYPE_F32) {
        ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
      } else if (tensor->type != GGML_TYPE_F16) {
        std::vector<char> blocks(ggml_nbytes(tensor));
        ggml_quantize_chunk(tensor->type, values.data(), blocks.data(), 0, tensor->ne[1], tensor->ne[0], nullptr);
        ggml_backend_tensor_set(tensor, blocks.data(), 0, blocks.size());
      } else {
        std::vector<ggml_fp16_t> halves(values.size());
        ggml_fp32_to_fp16_row(values.data(), halves.data(), static_cast<int64_t>(values.size()));
        ggml_backend_tensor_set(tensor, halves.data(), 0, ggml_nbytes(tensor));
      }
    };
    if (buffer != nullptr) fill(w), fill(x);
  }
  ~Graph() {
    ggml_backend_buffer_free(buffer);
    ggml_free(context);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
};

ggml_backend_t open_backend(const std::string& name) {
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  const ggml_backend_reg_t reg = ggml_backend_reg_by_name(name.c_str());
  if (reg == nullptr || ggml_backend_reg_dev_count(reg) == 0) return nullptr;
  const ggml_backend_t backend = ggml_backend_dev_init(ggml_backend_reg_dev_get(reg, 0), nullptr);
  void* const set_threads = ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
  if (backend != nullptr && set_threads != nullptr) {
    reinterpret_cast<ggml_backend_set_n_threads_t>(set_threads)(backend,
                                                                static_cast<int>(std::thread::hardware_concurrency()));
  }
  return backend;
}

}  // namespace

Stopwatch::Stopwatch() : start_{seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID)} {}
Timing Stopwatch::timing() const {
  return {seconds_of(CLOCK_MONOTONIC) - start_.wall, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start_.cpu};
}

GgmlPeer::GgmlPeer(const GgmlOptions& options) {
  int requests[2], answers[2];
  if (pipe(requests) != 0 || pipe(answers) != 0) return;
  process_ = fork();
  if (process_ == 0) {
    dup2(requests[0], 0), dup2(answers[1], 1);
    for (const int end : {requests[0], requests[1], answers[0], answers[1]}) close(end);
    setenv("GGML_VK_VISIBLE_DEVICES", "0", 1);  // else it passes over adapters that run on the CPU
    if (!options.matrix_units) setenv("GGML_VK_DISABLE_COOPMAT", "1", 1);
    execl("/proc/self/exe", "peers", std::string(kServe).c_str(), options.backend.c_str(), nullptr);
    _exit(127);
  }
  close(requests[0]), close(answers[1]);
  to_ = fdopen(requests[1], "w"), from_ = fdopen(answers[0], "r");
}

GgmlPeer::~GgmlPeer() {
  if (to_ != nullptr) std::fclose(to_);  // ends it
  if (from_ != nullptr) std::fclose(from_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

std::optional<Timing> GgmlPeer::measure(const Product& p, int runs) {
  if (to_ == nullptr || from_ == nullptr) return std::nullopt;
  std::fprintf(to_, "%d %d %lld %lld %lld %d\n", p.half, p.packed, static_cast<long long>(p.m),
               static_cast<long long>(p.k), static_cast<long long>(p.n), runs);
  if (std::fflush(to_) != 0) return std::nullopt;
  Timing timing;
  if (std::fscanf(from_, " timing %lf %lf", &timing.wall, &timing.cpu) != 2 || timing.wall == 0) return std::nullopt;
  return timing;
}

int serve_ggml(const std::string& name) {
  const ggml_backend_t backend = open_backend(name);
  std::unique_ptr<Graph> graph;
  Product known;
  int half = 0, packed = -1, runs = 0;
  long long m = 0, k = 0, n = 0;
  while (std::scanf("%d %d %lld %lld %lld %d", &half, &packed, &m, &k, &n, &runs) == 6) {
    Timing best;
    const Product wanted{half != 0, m, k, n, packed};
    const bool same = known.half == wanted.half && known.packed == packed;
    if (backend != nullptr && (!graph || !same || known.m != m || known.k != k || known.n != n)) {
      graph.reset();
      graph = std::make_unique<Graph>(backend, wanted);
      known = wanted;
      if (graph->buffer != nullptr) ggml_backend_graph_compute(backend, graph->graph);  // compiles
    }
    for (int run = 0; graph && graph->buffer != nullptr && run < runs; ++run) {
      const Stopwatch watch;
      if (ggml_backend_graph_compute(backend, graph->graph) != GGML_STATUS_SUCCESS) break;
      best.best_with(watch.timing());
    }
    std::printf("timing %.9f %.9f\n", best.wall, best.cpu);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace rlxgpu::core::peers
