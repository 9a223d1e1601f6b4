#include "job_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace octet::program {
namespace {

/// Returns a basic string of TOML.
std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04X}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

JobSection::JobSection(std::string_view command)
    : text_(fmt::format("[{}]\n", command)) {}

JobSection& JobSection::add(std::string_view key, const std::string& value) {
  text_ += fmt::format("{} = {}\n", key, value);
  return *this;
}

JobSection& JobSection::set(std::string_view key, std::string_view value) {
  return value.empty() ? *this : add(key, toml_string(value));
}

JobSection& JobSection::set(std::string_view key,
                            const std::vector<std::string>& values) {
  if (values.empty()) return *this;
  if (values.size() == 1) return add(key, toml_string(values[0]));
  std::vector<std::string> quoted;
  for (const std::string& value : values) quoted.push_back(toml_string(value));
  return add(key, fmt::format("[{}]", fmt::join(quoted, ", ")));
}

JobSection& JobSection::set(std::string_view key, bool value) {
  return value ? add(key, "true") : *this;
}

JobSection& JobSection::set(std::string_view key, int64_t value) {
  return value != 0 ? add(key, fmt::format("{}", value)) : *this;
}

JobSection& JobSection::set(std::string_view key, double value) {
  return value != 0 ? add(key, fmt::format("{}", value)) : *this;
}

JobSection& JobSection::add_model_options(const ModelSource& model) {
  return set("model", std::string_view(model.what))
      .set("architecture", std::string_view(model.architecture))
      .set("input-shape", model.input_shape);
}

JobSection& JobSection::add_data(const DataOptions& data) {
  set("data", data.paths)
      .set("labels", data.labels)
      .set("preprocess", std::string_view(data.preprocess))
      .set("layout", std::string_view(data.layout.value_or("")))
      .set("skip-corrupt", data.skip_corrupt)
      .set("resize", std::string_view(data.resize))
      .set("crop", std::string_view(data.crop))
      .set("class-names", std::string_view(data.class_names))
      .set("columns", std::string_view(data.columns));
  if (!data.pad) return *this;
  return data.pad->empty() ? set("pad", true)
                           : set("pad", std::string_view(*data.pad));
}

}  // namespace octet::program
