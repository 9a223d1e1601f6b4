// Reads the files of trtexec.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/io/engine_profile.h>
#include <octet/io/json.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::io {
namespace {

/// A layer of --exportLayerInfo.
struct LayerInfo {
  std::vector<std::string> nodes = {};
  std::string type = {};
};

[[noreturn]] void refuse_profile(const std::filesystem::path& path,
                                 const char* option,
                                 const std::string& problem) {
  throw FormatError(
      "invalid_profile", path.string(),
      fmt::format("is no file of trtexec {}: {}", option, problem));
}

Config parsed_profile(const std::filesystem::path& path, const char* option) {
  std::string text = read_file(path);
  // Separators of names in the metadata are control characters.
  std::ranges::replace_if(
      text, [](unsigned char c) { return c == 0x1e || c == 0x1f; }, ' ');
  try {
    return from_json(text);
  } catch (const FormatError& error) {
    refuse_profile(path, option, std::string(error.text()));
  }
}

/// Returns NAME of each "[ONNX Layer: NAME]".
std::vector<std::string> nodes_of_metadata(const std::string& text) {
  constexpr std::string_view kStart = "[ONNX Layer: ";
  std::vector<std::string> nodes;
  for (size_t at = text.find(kStart); at != std::string::npos;
       at = text.find(kStart, at)) {
    at += kStart.size();
    const size_t end = std::min(text.find(']', at), text.size());
    nodes.push_back(text.substr(at, end - at));
  }
  return nodes;
}

bool is_conversion(std::string_view name) {
  return name.starts_with("Reformatting CopyNode") ||
         name.starts_with("copied_") || name.find("_copy_") != name.npos;
}

/// Returns the parts of "a + b" without conversions.
std::vector<std::string> nodes_of_name(std::string_view name) {
  if (is_conversion(name)) return {};
  constexpr std::string_view kPlus = " + ";
  std::vector<std::string> nodes;
  while (true) {
    const size_t end = name.find(kPlus);
    if (end != 0) nodes.emplace_back(name.substr(0, end));
    if (end == std::string_view::npos) return nodes;
    name.remove_prefix(end + kPlus.size());
  }
}

/// Returns the type in "Row major Int8 format" or "Half".
std::string engine_type(const std::string& format) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11>
      kTypes = {{{"Int8", "INT8"},
                 {"INT8", "INT8"},
                 {"FP8", "FP8"},
                 {"Int4", "INT4"},
                 {"FP4", "FP4"},
                 {"BF16", "BF16"},
                 {"BFloat16", "BF16"},
                 {"FP16", "FP16"},
                 {"Half", "FP16"},
                 {"FP32", "FP32"},
                 {"Float", "FP32"}}};
  for (const auto& [word, type] : kTypes) {
    if (format.find(word) != std::string::npos) return std::string(type);
  }
  return "";
}

LayerInfo layer_info(const Config& layer) {
  LayerInfo info;
  const Config* metadata = layer.find("Metadata");
  if (metadata != nullptr)
    info.nodes = nodes_of_metadata(metadata->as_string());
  const Config* outputs = layer.find("Outputs");
  if (outputs == nullptr || outputs->as_list().empty()) return info;
  const Config& first = outputs->as_list()[0];
  const Config* format = first.find("Format/Datatype");
  if (format != nullptr) info.type = engine_type(format->as_string());
  return info;
}

std::map<std::string, LayerInfo> read_layer_infos(
    const std::filesystem::path& path) {
  constexpr const char* kOption = "--exportLayerInfo";
  const Config config = parsed_profile(path, kOption);
  std::map<std::string, LayerInfo> layers;
  try {
    for (const Config& layer : config.at("Layers").as_list()) {
      if (layer.is_string()) {
        layers[layer.as_string()] = {};
      } else {
        layers[layer.at("Name").as_string()] = layer_info(layer);
      }
    }
  } catch (const Error& error) {
    refuse_profile(path, kOption, std::string(error.text()));
  }
  return layers;
}

EngineLayer engine_layer(const Config& entry, double count) {
  EngineLayer layer{.name = entry.at("name").as_string()};
  const Config* median = entry.find("medianMs");
  const Config* mean = entry.find("averageMs");
  layer.milliseconds = median != nullptr ? median->as_number()
                       : mean != nullptr
                           ? mean->as_number()
                           : entry.at("timeMs").as_number() / count;
  if (!(layer.milliseconds >= 0) || !std::isfinite(layer.milliseconds)) {
    throw ValueError(
        "out_of_range", layer.name,
        fmt::format("the time must be >= 0, got {}", layer.milliseconds));
  }
  return layer;
}

}  // namespace

EngineProfile read_engine_profile(const std::filesystem::path& profile,
                                  const std::filesystem::path& layer_file) {
  constexpr const char* kOption = "--exportProfile";
  const Config config = parsed_profile(profile, kOption);
  EngineProfile result;
  try {
    double count = 1;
    for (const Config& entry : config.as_list()) {
      if (const Config* runs = entry.find("count")) {
        count = std::max(1.0, runs->as_number());
      } else {
        result.layers.push_back(engine_layer(entry, count));
      }
    }
  } catch (const Error& error) {
    refuse_profile(profile, kOption, std::string(error.text()));
  }
  if (result.layers.empty()) refuse_profile(profile, kOption, "has no layers");
  std::map<std::string, LayerInfo> infos;
  if (!layer_file.empty()) infos = read_layer_infos(layer_file);
  size_t known = 0;
  for (EngineLayer& layer : result.layers) {
    result.milliseconds += layer.milliseconds;
    const auto info = infos.find(layer.name);
    if (info != infos.end()) {
      ++known;
      layer.nodes = info->second.nodes;
      layer.type = info->second.type;
    }
    if (layer.nodes.empty()) layer.nodes = nodes_of_name(layer.name);
  }
  if (!layer_file.empty() && known == 0) {
    throw FormatError(
        "profile_mismatch", layer_file.string(),
        fmt::format("has none of the layers of '{}', such as '{}'. Hint: write "
                    "both files in one run of trtexec",
                    profile.string(), result.layers[0].name));
  }
  return result;
}

}  // namespace octet::io
