// Products of matrices, of floats and of quantised integers.
#include <string>
#include <vector>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/einsum.h"
#include "rlxgpu/kernels/matmul/gemm.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/matmul/quantized.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

void import_matmul(Node& n) { n.result(0, n.wrapped(matmul(n.tensor(0), n.tensor(1)), n.type(0))); }

void import_gemm(Node& n) {
  const GemmOptions options{.alpha = n.number("alpha", 1.0f),
                            .beta = n.number("beta", 1.0f),
                            .transpose_a = n.flag("transA"),
                            .transpose_b = n.flag("transB"),
                            .c = n.tensor_or_none(2)};
  n.ignore({"broadcast"});  // of opset 6; since then it always does
  const Tensor a = n.tensor(0);
  if (!is_float(a.dtype()) && (options.alpha != 1 || options.beta != 1))
    n.unsupported("integers with alpha or beta are not supported");
  n.result(0, gemm(a, n.tensor(1), options));
}

void import_einsum(Node& n) {
  std::string equation = n.text("equation");
  std::erase(equation, ' ');
  std::vector<Tensor> operands;
  for (int k = 0; k < n.count(); ++k) operands.push_back(n.tensor(k));
  if (operands.empty()) n.invalid("there are no operands");
  n.result(0, einsum(equation, operands));
}

// A zero point: one for all, or one for each row of a (column of b).
Tensor zero_point(Node& n, int k, bool of_rows) {
  if (!n.has(k)) return n.g().literal(0, i32);
  const Tensor zero = cast(n.tensor(k), i32);
  if (zero.shape().count() == 1) return reshape(zero, Shape());
  return of_rows && zero.shape().rank() == 1 ? unsqueeze(zero, {-1}) : zero;
}

Tensor integer_product(Node& n, int a, int a_zero, int b, int b_zero) {
  return matmul_integer(n.tensor(a), n.tensor(b), zero_point(n, a_zero, true), zero_point(n, b_zero, false));
}

void import_matmul_integer(Node& n) { n.result(0, integer_product(n, 0, 2, 1, 3), ElementType::i32); }

// One number, or one for each row of a (column of b), in f32.
Tensor scale(Node& n, int k, bool of_rows) {
  const Tensor given = cast(n.tensor(k), f32);
  if (given.shape().count() == 1) return reshape(given, Shape());
  return of_rows && given.shape().rank() == 1 ? unsqueeze(given, {-1}) : given;
}

void import_qlinear_matmul(Node& n) {
  const Tensor sums = integer_product(n, 0, 2, 3, 5);
  const Tensor factor = scale(n, 1, true) * scale(n, 4, false) / scale(n, 6, true);
  const Tensor scaled = round(cast(sums, f32) * factor) + cast(zero_point(n, 7, true), f32);
  n.result(0, cast(scaled, n.carrier(n.type(7))), n.type(7));
}

constexpr OpImporter kOps[] = {
    {"Einsum", import_einsum},
    {"Gemm", import_gemm},
    {"MatMul", import_matmul},
    {"MatMulInteger", import_matmul_integer},
    {"QLinearMatMul", import_qlinear_matmul},
};

}  // namespace

Importers matmul_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
