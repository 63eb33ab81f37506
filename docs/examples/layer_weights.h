// LayerWeights: the parameters of one layer, named "3.wq", "3.bq", ...
#ifndef DOCS_EXAMPLES_LAYER_WEIGHTS_H_
#define DOCS_EXAMPLES_LAYER_WEIGHTS_H_

#include <string_view>

#include "rlxgpu/base/text.h"
#include "rlxgpu/graph/builder.h"

namespace examples {

class LayerWeights {
 public:
  constexpr LayerWeights(rlxgpu::Builder& g, int index) : g_(g), index_(index) {}
  constexpr rlxgpu::Tensor operator()(std::string_view name, const rlxgpu::Shape& shape) const {
    return g_.param(named(name).view(), rlxgpu::f32, shape);
  }
  constexpr rlxgpu::Tensor state(std::string_view name, const rlxgpu::Shape& shape) const {
    return g_.state(named(name).view(), rlxgpu::f32, shape);
  }

 private:
  constexpr rlxgpu::core::Text named(std::string_view name) const {
    rlxgpu::core::Text full;
    full << index_ << '.' << name;
    return full;
  }
  rlxgpu::Builder& g_;
  int index_;
};

}  // namespace examples

#endif  // DOCS_EXAMPLES_LAYER_WEIGHTS_H_
