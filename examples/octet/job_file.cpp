#include "job_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shell.h"

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

/// Options of a command line; their values as in JobSection.
struct ShellOptions {
  std::string text;

  void set(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    text += fmt::format(" --{} {}", key, shell_word(std::string(value)));
  }
  void set(std::string_view key, const std::vector<std::string>& values) {
    for (const std::string& value : values) set(key, std::string_view(value));
  }
  void set(std::string_view key, bool value) {
    if (value) text += fmt::format(" --{}", key);
  }
  void set(std::string_view key, int64_t value) {
    text += fmt::format(" --{} {}", key, value);
  }
  void set(std::string_view key, double value) {
    text += fmt::format(" --{} {}", key, value);
  }
};

template <class Options>
void add_loading(Options& to, const ModelSource& model) {
  to.set("architecture", std::string_view(model.architecture));
  to.set("input-shape", model.input_shape);
  const ModelSource usual;
  if (model.time_limit != usual.time_limit) {
    to.set("time-limit", model.time_limit);
  }
  if (model.memory_mib != usual.memory_mib) {
    to.set("memory-limit", model.memory_mib);
  }
}

template <class Options>
void add_samples(Options& to, const DataOptions& data) {
  to.set("data", data.paths);
  to.set("labels", data.labels);
  to.set("preprocess", std::string_view(data.preprocess));
  to.set("layout", std::string_view(data.layout.value_or("")));
  to.set("skip-corrupt", data.skip_corrupt);
  to.set("resize", std::string_view(data.resize));
  to.set("crop", std::string_view(data.crop));
  to.set("class-names", std::string_view(data.class_names));
  to.set("columns", std::string_view(data.columns));
  if (!data.pad) return;
  if (data.pad->empty()) {
    to.set("pad", true);
  } else {
    to.set("pad", std::string_view(*data.pad));
  }
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
  set("model", std::string_view(model.what));
  add_loading(*this, model);
  return *this;
}

JobSection& JobSection::add_data(const DataOptions& data) {
  add_samples(*this, data);
  return *this;
}

std::string model_words(const ModelSource& model) {
  ShellOptions words;
  add_loading(words, model);
  return shell_word(model.what) + words.text;
}

std::string data_words(const DataOptions& data) {
  ShellOptions words;
  add_samples(words, data);
  return words.text;
}

}  // namespace octet::program
