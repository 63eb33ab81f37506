// Regions of images, and determinants.
#include <string>
#include <vector>

#include "rlxgpu/kernels/linalg/det.h"
#include "rlxgpu/kernels/roi/roi.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

void import_roi_align(Node& n) {
  const std::string mode = n.text("mode", "avg");
  const std::string at = n.text("coordinate_transformation_mode", n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (mode != "avg" && mode != "max") n.invalid("mode is \"", mode, "\"");
  if (at != "half_pixel" && at != "output_half_pixel") n.invalid("coordinate_transformation_mode is \"", at, "\"");
  n.result(0, roi_align(n.tensor(0), n.tensor(1), n.tensor(2),
                        {.rows = n.integer("output_height", 1),
                         .cols = n.integer("output_width", 1),
                         .scale = n.number("spatial_scale", 1.0f),
                         .samples = n.integer("sampling_ratio", 0),
                         .half_pixel = at == "half_pixel",
                         .max = mode == "max"}));
}

void import_max_roi_pool(Node& n) {
  const std::vector<int64_t> pooled = n.integers("pooled_shape");
  if (pooled.size() != 2) n.invalid("pooled_shape has ", pooled.size(), " extents");
  n.result(0, max_roi_pool(n.tensor(0), n.tensor(1),
                           {.rows = pooled[0], .cols = pooled[1], .scale = n.number("spatial_scale", 1.0f)}));
}

void import_det(Node& n) { n.result(0, det(n.tensor(0))); }

constexpr OpImporter kOps[] = {
    {"Det", import_det},
    {"MaxRoiPool", import_max_roi_pool},
    {"RoiAlign", import_roi_align},
};

}  // namespace

Importers vision_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
