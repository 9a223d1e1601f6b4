#include "optimize_state.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/runtime/detail/fnv1a.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::program {
namespace {

constexpr int64_t kStateVersion = 1;
constexpr const char* kRestart = "Hint: --restart begins a new search";

class ContentHash {
 public:
  void add(std::string_view text) { hash_.add(std::as_bytes(std::span(text))); }
  void add(const Tensor& tensor) {
    add(tensor.shape().to_string());
    hash_.add({static_cast<const std::byte*>(tensor.raw()),
               static_cast<size_t>(tensor.bytes())});
  }
  std::string text() const { return fmt::format("{:016x}", hash_.value()); }

 private:
  Fnv1a hash_;
};

void add_samples(const Dataset& data, ContentHash& hash) {
  constexpr int64_t kBatch = 256;
  for (int64_t at = 0; at < data.size(); at += kBatch) {
    const Batch batch = data.batch(at, std::min(kBatch, data.size() - at));
    for (const Tensor& input : batch.inputs) hash.add(input);
    for (const Tensor& label : batch.labels) hash.add(label);
  }
}

}  // namespace

SearchIdentity identity_of(const Model& model, const Dataset& calibration,
                           const Dataset& validation, std::string settings) {
  ContentHash of_model, of_data;
  for (const auto& layer : model.layers()) {
    of_model.add(layer->name());
    of_model.add(io::to_json(layer->config()));
    for (const Parameter& parameter : layer->parameters()) {
      of_model.add(parameter.variable.value());
    }
  }
  add_samples(calibration, of_data);
  add_samples(validation, of_data);
  return {of_model.text(), of_data.text(), std::move(settings)};
}

quant::OptimizeState read_state(const std::string& path,
                                const SearchIdentity& identity) {
  if (!std::filesystem::exists(path)) return {};
  Config config;
  SearchIdentity of_file;
  quant::OptimizeState state;
  try {
    config = io::from_json(read_file(path));
    if (config.at("version").as_int() != kStateVersion) {
      throw ValueError("unsupported_version", path,
                       fmt::format("version must be {}", kStateVersion));
    }
    of_file = {config.at("model").as_string(), config.at("data").as_string(),
               config.at("settings").as_string()};
    state = quant::optimize_state_from_config(config.at("state"));
  } catch (const IoError&) {
    throw;
  } catch (const Error& error) {
    throw FormatError(
        "invalid_state", path,
        fmt::format("is not a state file of octet optimize: {}. {}",
                    error.text(), kRestart));
  }
  if (of_file == identity) return state;
  const char* what = of_file.model != identity.model ? "another model"
                     : of_file.data != identity.data ? "other data"
                                                     : "other options";
  std::string options;
  if (of_file.settings != identity.settings) {
    options =
        fmt::format(" ({} instead of {})", of_file.settings, identity.settings);
  }
  throw ValueError(
      "state_mismatch", path,
      fmt::format("has trials of {}{}. {}", what, options, kRestart));
}

void write_state(const std::string& path, const SearchIdentity& identity,
                 const quant::OptimizeState& state) {
  const Config config = Config()
                            .set("version", kStateVersion)
                            .set("model", identity.model)
                            .set("data", identity.data)
                            .set("settings", identity.settings)
                            .set("state", quant::to_config(state));
  write_file(path, io::to_json(config) + "\n");
}

}  // namespace octet::program
