#include "autotune_state.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/system.h>

namespace octet::program {
namespace {

constexpr int64_t kLatenciesVersion = 1;
constexpr const char* kMeasureAgain =
    "Hint: --restart measures again, --state uses another file";

}  // namespace

quant::AutotuneState read_latencies(const std::string& path,
                                    const std::string& settings) {
  if (!std::filesystem::exists(path)) return {};
  std::string of_file;
  quant::AutotuneState state;
  try {
    const Config config = io::from_json(read_file(path));
    if (config.at("version").as_int() != kLatenciesVersion) {
      throw ValueError("unsupported_version", path,
                       fmt::format("version must be {}", kLatenciesVersion));
    }
    of_file = config.at("settings").as_string();
    state = quant::autotune_state_from_config(config.at("state"));
  } catch (const IoError&) {
    throw;
  } catch (const Error& error) {
    throw FormatError(
        "invalid_state", path,
        fmt::format("is not a state file of octet autotune: {}. {}",
                    error.text(), kMeasureAgain));
  }
  if (of_file == settings) return state;
  throw ValueError("state_mismatch", path,
                   fmt::format("has latencies of {}; this run has {}. {}",
                               of_file, settings, kMeasureAgain));
}

void write_latencies(const std::string& path, const std::string& settings,
                     const quant::AutotuneState& state) {
  const Config config = Config()
                            .set("version", kLatenciesVersion)
                            .set("settings", settings)
                            .set("state", quant::to_config(state));
  write_file(path, io::to_json(config) + "\n");
}

std::string machine_name() {
  std::ifstream cpus("/proc/cpuinfo");
  std::string name = "processor";
  for (std::string line; std::getline(cpus, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      name = line.substr(colon + 2);
      break;
    }
  }
  return fmt::format("{}, {}", name, to_string(active_isa()));
}

}  // namespace octet::program
