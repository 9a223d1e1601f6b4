#include "outputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/file_name.h>
#include <octet/runtime/error.h>

namespace octet::program {
namespace {

namespace fs = std::filesystem;

/// Returns the value, and the path after "NAME=" if there is one: either may be
/// a path.
std::vector<fs::path> paths_in(const std::string& value) {
  std::vector<fs::path> paths;
  if (value.empty() || value.find('\0') != value.npos) return paths;
  paths.emplace_back(value);
  const size_t end = value.find('=');
  if (end != value.npos && end + 1 < value.size()) {
    paths.emplace_back(value.substr(end + 1));
  }
  return paths;
}

bool is_stream(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) &&
         !fs::is_directory(path, ignored);
}

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  if (fs::exists(a, error) && fs::exists(b, error)) return false;
  const fs::path place_a = fs::weakly_canonical(fs::absolute(a), error);
  const fs::path place_b = fs::weakly_canonical(fs::absolute(b), error);
  return !error && place_a == place_b;
}

/// Returns whether an existing path is below an existing folder.
bool is_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path inner = fs::canonical(path, error);
  const fs::path outer = fs::canonical(folder, error);
  if (error || inner == outer) return false;
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

/// Returns whether a file of this name in a data folder contains samples or
/// labels.
bool is_data(const fs::path& path) {
  constexpr std::array<std::string_view, 4> kArrays = {"x_train", "y_train",
                                                       "x_test", "y_test"};
  constexpr std::array<std::string_view, 6> kOthers = {"",      ".png", ".jpg",
                                                       ".jpeg", ".bin", ".gz"};
  const std::string extension = path.extension().string();
  return extension == ".npy"
             ? std::ranges::count(kArrays, path.stem().string()) > 0
             : std::ranges::count(kOthers, extension) > 0;
}

void check_output(const std::string& option, const fs::path& output,
                  const fs::path& read) {
  std::error_code ignored;
  if (fs::is_directory(output, ignored)) {
    if (!fs::is_regular_file(read, ignored) || !is_inside(read, output)) return;
    throw ValueError(
        "conflicting_options", option,
        fmt::format("output folder '{}' contains the input file '{}'",
                    output.string(), read.string()));
  }
  const bool overwrites =
      (fs::is_regular_file(read, ignored) && is_same(output, read)) ||
      (fs::is_directory(read, ignored) &&
       fs::is_regular_file(output, ignored) && is_data(output) &&
       is_inside(output, read));
  if (!overwrites) return;
  throw ValueError(
      "conflicting_options", option,
      fmt::format("would overwrite the input file '{}'", output.string()));
}

/// Returns "an .onnx or .h5 file", "a .csv file".
std::string file_with(const std::vector<std::string>& extensions) {
  const bool vowel =
      std::string_view("aefhilmnorsx").find(extensions[0].at(1)) !=
      std::string_view::npos;
  return fmt::format("{} {} file", vowel ? "an" : "a",
                     fmt::join(extensions, " or "));
}

}  // namespace

void check_outputs(const std::vector<Output>& outputs,
                   const std::vector<std::string>& read) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const fs::path& path : paths_in(outputs[i].path)) {
      if (is_stream(path)) continue;
      for (const std::string& value : read) {
        for (const fs::path& each : paths_in(value)) {
          check_output(outputs[i].option, path, each);
        }
      }
      for (size_t k = 0; k < i; ++k) {
        if (outputs[k].option == outputs[i].option) continue;
        for (const fs::path& other : paths_in(outputs[k].path)) {
          if (!is_same(path, other)) continue;
          throw ValueError("conflicting_options", outputs[i].option,
                           fmt::format("'{}' is also the output of {}",
                                       path.string(), outputs[k].option));
        }
      }
    }
  }
}

std::string wrong_name(const std::string& path,
                       const std::vector<std::string>& extensions, bool only) {
  const auto ends = [&](const std::string& extension) {
    return path.ends_with(extension);
  };
  if (std::ranges::any_of(extensions, ends)) return {};
  const KnownExtension* known = find_extension(path);
  const bool own =
      known != nullptr && std::ranges::count(extensions, known->extension) > 0;
  if (!only && (known == nullptr || own)) return {};
  std::string text =
      fmt::format("must name {}, got '{}'", file_with(extensions), path);
  if (known != nullptr && !own && !known->hint.empty()) {
    text += fmt::format(". Hint: {}", known->hint);
  }
  return text;
}

}  // namespace octet::program
