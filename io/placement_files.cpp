#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/runtime/detail/file_name.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "file_kind.h"

namespace octet::io {
namespace {

// Limit of the file size. The plan of a network of a thousand layers has half a
// megabyte; its parsed form is many times larger.
constexpr int64_t kLargest = int64_t{16} << 20;
constexpr std::string_view kJsonFile = "JSON of quantization";

template <class Body>
auto in_file(const std::filesystem::path& path, Body body) {
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); }, body);
}

void save(const Config& config, const std::filesystem::path& path) {
  const std::string text = to_json(config) + "\n";
  in_file(path, [&] {
    // JSON replaces invalid UTF-8: the names would change.
    if (from_json(text) == config) return;
    throw ValueError("invalid_value", "JSON", "names must be valid UTF-8");
  });
  write_file(path, text);
}

template <class FromConfig>
auto load(const std::filesystem::path& path, FromConfig from_config) {
  const std::string text = read_file_as(kJsonFile, path, kLargest);
  return in_file(path, [&] {
    refuse_other_kind(kJsonFile, text, {FileKind::json, FileKind::text});
    return from_config(from_json(text));
  });
}

}  // namespace

void save_spec(const quant::QuantizationSpec& spec,
               const std::filesystem::path& path) {
  check_file_name(path, "JSON", {".json"});
  save(to_config(spec), path);
}

quant::QuantizationSpec load_spec(const std::filesystem::path& path) {
  return load(path, quant::spec_from_config);
}

void save_plan(const quant::QdqPlan& plan, const std::filesystem::path& path) {
  check_file_name(path, "JSON", {".json", ".plan"});
  save(to_config(plan), path);
}

quant::QdqPlan load_plan(const std::filesystem::path& path) {
  return load(path, quant::plan_from_config);
}

}  // namespace octet::io
