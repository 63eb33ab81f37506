#include "rlxgpu/tools/plot.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/tools/svg.h"

namespace rlxgpu::core::tools {
namespace {

using nlohmann::json;

constexpr std::string_view kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                        "#e69f00", "#56b4e9", "#7f7f7f", "#000000"};
constexpr std::string_view kInk = "#333333", kFaint = "#dddddd";
constexpr double kWidth = 960, kLeft = 80, kRight = 250;

double number(const json& row, const char* name) {
  return row.contains(name) && row[name].is_number() ? row[name].get<double>() : 0;
}

double seconds_in(const std::string& unit) {
  return unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : 1e-9;
}

BenchmarkRow row_of(const json& entry) {
  BenchmarkRow row;
  std::vector<std::string> parts = absl::StrSplit(entry.at("run_name").get<std::string>(), '/');
  row.series = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    const bool how = part == "manual_time" || part == "real_time" || part == "process_time" ||
                     absl::StartsWith(part, "iterations:") || absl::StartsWith(part, "repeats:") ||
                     absl::StartsWith(part, "min_time:") || absl::StartsWith(part, "threads:");
    if (!how) absl::StrAppend(&row.shape, row.shape.empty() ? "" : "/", part);
  }
  row.label = entry.value("label", "");
  row.seconds = entry.at("real_time").get<double>() * seconds_in(entry.value("time_unit", "ns"));
  row.flops_per_s = std::max(
      {number(entry, "FLOP"), number(entry, "FLOP/s"), number(entry, "FLOPS"), 1e9 * number(entry, "GFLOP/s")});
  row.bytes_per_s = std::max(number(entry, "bytes_per_second"), number(entry, "bytes/s"));
  return row;
}

std::vector<std::string> series_of(const std::vector<BenchmarkRow>& rows) {
  std::vector<std::string> names;
  for (const BenchmarkRow& row : rows) {
    if (std::find(names.begin(), names.end(), row.series) == names.end()) names.push_back(row.series);
  }
  return names;
}

std::string_view color_of(const std::vector<std::string>& series, const std::string& name) {
  const auto at = static_cast<size_t>(std::find(series.begin(), series.end(), name) - series.begin());
  return kColors[at % std::size(kColors)];
}

// The axis from a power of ten to a power of ten.
struct LogAxis {
  double low, high, from, to;  // values and pixels
  static LogAxis over(double least, double most, double from, double to) {
    return {std::pow(10, std::floor(std::log10(least))), std::pow(10, std::ceil(std::log10(most * 1.01))), from, to};
  }
  double at(double value) const { return from + (to - from) * std::log10(value / low) / std::log10(high / low); }
};

struct Limits {
  double gflops = 0, gb_per_s = 0;
  std::string source;
};

Limits limits_of(const std::vector<BenchmarkRow>& rows, const std::map<std::string, Calibration>& calibrations) {
  for (const BenchmarkRow& row : rows) {
    const auto found = calibrations.find(row.label);
    if (found == calibrations.end()) continue;
    const Calibration& on = found->second;
    return {std::max({on.f32_256_gflops, on.f32_512_gflops, on.f32_1024_gflops, on.f16_256_gflops, on.f16_512_gflops,
                      on.f16_1024_gflops}),
            on.bandwidth_gb_per_s, absl::StrCat("calibrated ", on.date, ": ", row.label)};
  }
  Limits limits;
  for (const BenchmarkRow& row : rows) {
    limits.gflops = std::max(limits.gflops, 1e-9 * row.flops_per_s);
    limits.gb_per_s = std::max(limits.gb_per_s, 1e-9 * row.bytes_per_s);
  }
  limits.source = "not calibrated: the limits are the best of these results";
  return limits;
}

// Returns the y below it.
double draw_roofline(Svg& svg, const std::vector<BenchmarkRow>& rows, const std::vector<std::string>& series,
                     const Limits& limits, double top) {
  const double bottom = top + 330, right = kWidth - kRight;
  double least_x = limits.gflops / limits.gb_per_s, most_x = least_x, least_y = limits.gflops, most_y = least_y;
  for (const BenchmarkRow& row : rows) {
    const double x = row.flops_per_s / row.bytes_per_s, y = 1e-9 * row.flops_per_s;
    least_x = std::min(least_x, x), most_x = std::max(most_x, x), least_y = std::min(least_y, y),
    most_y = std::max(most_y, y);
  }
  const LogAxis x = LogAxis::over(least_x, most_x, kLeft, right), y = LogAxis::over(least_y, most_y, bottom, top + 30);
  svg.text(kLeft, top + 14, "Roofline", "start", 16, true);
  svg.text(kLeft + 90, top + 14, limits.source, "start", 11);
  for (double v = x.low; v <= x.high * 1.001; v *= 10) {
    svg.line(x.at(v), top + 30, x.at(v), bottom, kFaint);
    svg.text(x.at(v), bottom + 16, absl::StrFormat("%g", v), "middle");
  }
  for (double v = y.low; v <= y.high * 1.001; v *= 10) {
    svg.line(kLeft, y.at(v), right, y.at(v), kFaint);
    svg.text(kLeft - 6, y.at(v) + 4, absl::StrFormat("%g", v), "end");
  }
  svg.text((kLeft + right) / 2, bottom + 34, "FLOP / byte", "middle");
  svg.text(kLeft - 6, top + 22, "GFLOP/s", "end");
  const double ridge = limits.gflops / limits.gb_per_s, start = std::max(x.low, y.low / limits.gb_per_s);
  svg.line(x.at(start), y.at(start * limits.gb_per_s), x.at(ridge), y.at(limits.gflops), kInk, 2);
  svg.line(x.at(ridge), y.at(limits.gflops), right, y.at(limits.gflops), kInk, 2);
  svg.text(right - 4, y.at(limits.gflops) - 6, absl::StrFormat("%.3g GFLOP/s", limits.gflops), "end");
  svg.text(x.at(start) + 16, y.at(start * limits.gb_per_s) + 8, absl::StrFormat("%.3g GB/s", limits.gb_per_s));
  for (const BenchmarkRow& row : rows) {
    svg.dot(x.at(row.flops_per_s / row.bytes_per_s), y.at(1e-9 * row.flops_per_s), color_of(series, row.series),
            absl::StrFormat("%s %s: %.3g GFLOP/s", row.series, row.shape, 1e-9 * row.flops_per_s));
  }
  for (size_t i = 0; i < series.size(); ++i) {
    svg.bar(right + 14, top + 34 + 18 * static_cast<double>(i), 11, 11, color_of(series, series[i]));
    svg.text(right + 30, top + 44 + 18 * static_cast<double>(i), series[i]);
  }
  return std::max(bottom + 60, top + 60 + 18 * static_cast<double>(series.size()));
}

struct Bar {
  const BenchmarkRow* row = nullptr;
  double value = 0;
};
struct BarGroup {
  std::string shape;
  std::vector<Bar> bars;
};

// Faster is longer: GFLOP/s, or runs a second where FLOPs are not counted everywhere, or ratios to the baseline.
std::vector<BarGroup> groups_of(const std::vector<BenchmarkRow>& rows, std::string_view baseline, bool all_count) {
  std::vector<BarGroup> groups;
  for (const BenchmarkRow& row : rows) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const BarGroup& known) { return known.shape == row.shape; });
    if (group == groups.end()) group = groups.insert(group, {row.shape, {}});
    group->bars.push_back({&row, all_count ? 1e-9 * row.flops_per_s : row.seconds > 0 ? 1 / row.seconds : 0});
  }
  if (baseline.empty()) return groups;
  for (BarGroup& group : groups) {
    const auto base =
        std::find_if(group.bars.begin(), group.bars.end(), [&](const Bar& bar) { return bar.row->series == baseline; });
    const double unit = base == group.bars.end() ? 0 : base->value;
    for (Bar& bar : group.bars) bar.value = unit > 0 ? bar.value / unit : 0;
  }
  std::erase_if(groups, [](const BarGroup& group) { return group.bars.empty() || group.bars[0].value == 0; });
  return groups;
}

double draw_bars(Svg& svg, const std::vector<BenchmarkRow>& rows, const std::vector<std::string>& series,
                 std::string_view baseline, double top) {
  const bool all_count =
      std::all_of(rows.begin(), rows.end(), [](const BenchmarkRow& row) { return row.flops_per_s > 0; });
  const std::vector<BarGroup> groups = groups_of(rows, baseline, all_count);
  const std::string unit = !baseline.empty() ? absl::StrCat("times ", baseline)
                           : all_count       ? "GFLOP/s"
                                             : "runs a second";
  svg.text(kLeft, top + 14, absl::StrCat("Speed, ", unit), "start", 16, true);
  double most = 0;
  for (const BarGroup& group : groups) {
    for (const Bar& bar : group.bars) most = std::max(most, bar.value);
  }
  constexpr double kNames = 230, kBar = 14;
  const double start = kLeft + kNames, length = kWidth - start - 190;
  double y = top + 30;
  for (const BarGroup& group : groups) {
    svg.text(start - 8, y + kBar * static_cast<double>(group.bars.size()) / 2 + 4, group.shape, "end");
    for (const Bar& bar : group.bars) {
      svg.bar(start, y + 1, most > 0 ? std::max(length * bar.value / most, 1.0) : 1, kBar - 2,
              color_of(series, bar.row->series));
      svg.text(start + (most > 0 ? length * bar.value / most : 0) + 6, y + kBar - 3,
               absl::StrFormat("%.3g  %s", bar.value, bar.row->series), "start", 10);
      y += kBar;
    }
    y += 8;
  }
  svg.line(start, top + 26, start, y, kInk);
  return y + 16;
}

}  // namespace

absl::StatusOr<std::vector<BenchmarkRow>> parse_benchmarks(std::string_view text) {
  std::vector<BenchmarkRow> rows;
  try {
    const json document = json::parse(text);
    for (json entry : document.at("benchmarks")) {
      if (entry.value("error_occurred", false) || entry.value("skipped", false) ||
          entry.value("run_type", "iteration") != "iteration")
        continue;
      if (!entry.contains("run_name")) entry["run_name"] = entry.at("name");
      BenchmarkRow row = row_of(entry);
      const auto same = std::find_if(rows.begin(), rows.end(), [&](const BenchmarkRow& known) {
        return known.series == row.series && known.shape == row.shape;
      });
      if (same == rows.end()) {
        rows.push_back(std::move(row));
      } else if (row.seconds < same->seconds) {
        *same = std::move(row);
      }
    }
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not what Google Benchmark writes: ", error.what()));
  }
  return rows;
}

std::string plot_svg(const std::vector<BenchmarkRow>& rows, const std::map<std::string, Calibration>& calibrations,
                     std::string_view baseline) {
  Svg svg;
  const std::vector<std::string> series = series_of(rows);
  std::vector<BenchmarkRow> counted;
  for (const BenchmarkRow& row : rows) {
    if (row.flops_per_s > 0 && row.bytes_per_s > 0) counted.push_back(row);
  }
  double y = 16;
  if (!counted.empty()) y = draw_roofline(svg, counted, series, limits_of(counted, calibrations), y);
  y = draw_bars(svg, rows, series, baseline, y);
  return svg.finish(kWidth, y);
}

int plot_command(const PlotCommand& command, std::ostream& out, std::ostream& err) {
  std::ifstream file(command.results);
  if (!file) {
    err << command.results << " cannot be read\n";
    return 1;
  }
  absl::StatusOr<std::vector<BenchmarkRow>> rows =
      parse_benchmarks(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!rows.ok()) {
    err << command.results << " is " << rows.status().message() << "\n";
    return 1;
  }
  std::erase_if(*rows, [&](const BenchmarkRow& row) {
    return !absl::StrContains(absl::StrCat(row.series, "/", row.shape), command.filter);
  });
  const std::vector<std::string> series = series_of(*rows);
  if (!command.baseline.empty() && std::find(series.begin(), series.end(), command.baseline) == series.end()) {
    err << "there is no benchmark \"" << command.baseline << "\" in " << command.results << "\n";
    return 1;
  }
  if (rows->empty()) {
    err << command.results << " has no results to draw\n";
    return 1;
  }
  const std::string path =
      command.out.empty() ? std::filesystem::path(command.results).replace_extension(".svg").string() : command.out;
  std::ofstream svg(path);
  svg << plot_svg(*rows, load_calibrations(), command.baseline);
  svg.close();
  if (!svg) {
    err << path << " cannot be written\n";
    return 1;
  }
  out << rows->size() << " results drawn in " << path << "\n";
  return 0;
}

}  // namespace rlxgpu::core::tools
