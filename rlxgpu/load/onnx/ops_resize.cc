// Resize and its relatives: elements at places between elements.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/resize/grid_sample.h"
#include "rlxgpu/kernels/resize/resize.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

ResizeMode mode_of(const Node& n, const std::string& mode) {
  if (mode == "nearest") return ResizeMode::nearest;
  if (mode == "linear" || mode == "bilinear") return ResizeMode::linear;
  if (mode == "cubic" || mode == "bicubic") return ResizeMode::cubic;
  n.invalid("mode is \"", mode, "\"");
}

ResizeCoordinates coordinates_of(const Node& n, const std::string& mode) {
  using At = ResizeCoordinates;
  const std::pair<std::string_view, At> names[] = {{"half_pixel", At::half_pixel},
                                                   {"half_pixel_symmetric", At::half_pixel_symmetric},
                                                   {"pytorch_half_pixel", At::pytorch_half_pixel},
                                                   {"align_corners", At::align_corners},
                                                   {"asymmetric", At::asymmetric},
                                                   {"tf_crop_and_resize", At::crop}};
  for (const auto& [name, at] : names) {
    if (mode == name) return at;
  }
  n.unsupported("coordinate_transformation_mode \"", mode, "\"");
}

ResizeRounding rounding_of(const Node& n, const std::string& mode) {
  if (mode == "round_prefer_floor") return ResizeRounding::prefer_floor;
  if (mode == "round_prefer_ceil") return ResizeRounding::prefer_ceil;
  if (mode == "floor") return ResizeRounding::floor;
  if (mode == "ceil") return ResizeRounding::ceil;
  n.invalid("nearest_mode is \"", mode, "\"");
}

// Integers are interpolated as floats, and lose what is behind the point.
void resized(Node& n, const std::vector<ResizeAxis>& axes, const ResizeOptions& options) {
  const Tensor x = n.tensor(0);
  std::vector<int64_t> to = extents_of(n.shape(0));
  for (const ResizeAxis& axis : axes) to[static_cast<size_t>(axis.axis)] = axis.size;
  n.checked_shape(to);
  if (options.mode == ResizeMode::nearest || rlxgpu::core::is_float(x.dtype()))
    return n.result(0, resize(x, axes, options));
  if (!rlxgpu::core::is_integer(x.dtype())) n.unsupported("only nearest for ", name_of(n.type(0)));
  n.result(0, n.wrapped(cast(resize(cast(x, f32), axes, options), x.dtype()), n.type(0)));
}

// An extent times a factor, as f32 holds the factor.
int64_t scaled(double extent, double scale) { return static_cast<int64_t>(std::floor(std::min(extent * scale, 1e10))); }

void by_scales(Node& n, const std::vector<double>& scales, std::vector<int64_t> along, const ResizeOptions& options,
               const std::vector<double>& roi) {
  const Shape shape = n.shape(0);
  if (scales.size() != along.size()) n.invalid(scales.size(), " scales for ", along.size(), " axes");
  std::vector<ResizeAxis> axes;
  for (size_t i = 0; i < along.size(); ++i) {
    const auto axis = static_cast<int>(along[i]);
    if (!(scales[i] > 0) || !(scaled(static_cast<double>(shape[axis]), scales[i]) <= INT32_MAX))
      n.invalid("a scale is not possible");
    ResizeAxis one{.axis = axis, .size = scaled(static_cast<double>(shape[axis]), scales[i]), .scale = scales[i]};
    if (!roi.empty()) one.begin = roi[i], one.end = roi[i + along.size()];
    axes.push_back(one);
  }
  resized(n, axes, options);
}

// Before opset 11: factors only, and places that start at the first element.
void by_old_rules(Node& n, const std::vector<double>& scales) {
  std::vector<int64_t> along;
  for (int i = 0; i < n.rank(0); ++i) along.push_back(i);
  by_scales(n, scales, along,
            {.mode = mode_of(n, n.text("mode", "nearest")),
             .coordinates = ResizeCoordinates::asymmetric,
             .rounding = ResizeRounding::floor},
            {});
}

void import_upsample(Node& n) {
  if (!n.has("scales")) return by_old_rules(n, n.numbers(1));
  const std::vector<float> scales = n.numbers("scales");
  by_old_rules(n, {scales.begin(), scales.end()});
}

void import_resize(Node& n) {
  if (n.opset() < 11) return by_old_rules(n, n.numbers(1));
  ResizeOptions options;
  options.mode = mode_of(n, n.text("mode", "nearest"));
  options.coordinates = coordinates_of(n, n.text("coordinate_transformation_mode", "half_pixel"));
  options.rounding = rounding_of(n, n.text("nearest_mode", "round_prefer_floor"));
  options.cubic = n.number("cubic_coeff_a", -0.75f);
  options.exclude_outside = n.flag("exclude_outside");
  options.antialias = n.flag("antialias");
  options.extrapolation = n.number("extrapolation_value", 0.0f);
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  std::vector<int64_t> along = n.integers("axes");
  for (int64_t& axis : along) axis = n.axis(axis, n.rank(0));
  if (along.empty()) {
    for (int i = 0; i < n.rank(0); ++i) along.push_back(i);
  }
  std::vector<double> roi;
  if (options.coordinates == ResizeCoordinates::crop) {
    roi = n.numbers(1);
    if (roi.size() != 2 * along.size()) n.invalid("roi has ", roi.size(), " numbers for ", along.size(), " axes");
  }
  const bool has_scales = n.has(2) && n.shape(2).count() > 0;
  if (has_scales == (n.has(3) && n.shape(3).count() > 0)) n.invalid("takes either scales or sizes");
  if (has_scales) return by_scales(n, n.numbers(2), along, options, roi);
  const std::vector<int64_t> sizes = n.integers(3);
  if (sizes.size() != along.size()) n.invalid(sizes.size(), " sizes for ", along.size(), " axes");
  const Shape shape = n.shape(0);
  std::vector<ResizeAxis> axes;
  double common = 0;  // factor, where the ratio of extents is kept
  for (size_t i = 0; i < along.size(); ++i) {
    const auto axis = static_cast<int>(along[i]);
    if (sizes[i] < 0 || sizes[i] > INT32_MAX) n.invalid("a size is ", sizes[i]);
    ResizeAxis one{.axis = axis, .size = sizes[i]};
    if (!roi.empty()) one.begin = roi[i], one.end = roi[i + along.size()];
    axes.push_back(one);
    const double factor = static_cast<double>(sizes[i]) / static_cast<double>(std::max<int64_t>(shape[axis], 1));
    common = i == 0 ? factor : policy == "not_larger" ? std::min(common, factor) : std::max(common, factor);
  }
  if (policy != "stretch") {
    if (policy != "not_larger" && policy != "not_smaller") n.invalid("keep_aspect_ratio_policy is \"", policy, "\"");
    for (ResizeAxis& axis : axes) {
      axis.scale = common;
      axis.size =
          static_cast<int64_t>(std::floor(std::min(common * static_cast<double>(shape[axis.axis]) + 0.5, 1e10)));
    }
  }
  resized(n, axes, options);
}

void import_grid_sample(Node& n) {
  const std::string padding = n.text("padding_mode", "zeros");
  GridSampleOptions options{.mode = mode_of(n, n.text("mode", "linear"))};
  if (padding == "border") {
    options.padding = GridPadding::border;
  } else if (padding == "reflection") {
    options.padding = GridPadding::reflection;
  } else if (padding != "zeros") {
    n.invalid("padding_mode is \"", padding, "\"");
  }
  options.align_corners = n.flag("align_corners");
  n.result(0, grid_sample(n.tensor(0), n.tensor(1), options));
}

void import_affine_grid(Node& n) {
  const std::vector<int64_t> size = n.integers(1);
  if (size.size() < 3) n.invalid("size has ", size.size(), " extents");
  n.checked_shape(size);
  n.result(0, affine_grid(n.tensor(0), std::span(size).subspan(2), n.flag("align_corners")));
}

constexpr OpImporter kOps[] = {
    {"AffineGrid", import_affine_grid},
    {"GridSample", import_grid_sample},
    {"Resize", import_resize},
    {"Upsample", import_upsample},
};

}  // namespace

Importers resize_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
