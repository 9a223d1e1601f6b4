// Option values from a fixed list.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet::program {

/// Returns the value of a word, which may have any case and separators:
/// "TensorRT-10" is tensorrt10.
/// Throws: ValueError with the option and similar words.
template <class T, size_t N>
T choice(std::string_view option, const std::string& word,
         const std::array<std::pair<std::string_view, T>, N>& choices) {
  std::vector<std::string> words;
  for (const auto& [name, value] : choices) {
    if (fold_name(name) == fold_name(word)) return value;
    words.emplace_back(name);
  }
  throw ValueError(
      "invalid_value", option,
      fmt::format("must be {}{}, got '{}'{}", N > 2 ? "one of " : "",
                  fmt::join(words, N > 2 ? ", " : " or "), word,
                  suggest_near(word, words)));
}

/// Returns `body()`. A value or name that it rejects is reported as that of the
/// option.
template <class Body>
decltype(auto) as_option(std::string_view option, Body body) {
  const auto of_option = [&](const Error& error) {
    return Error(error.kind(), error.code(), option, error.text());
  };
  try {
    return body();
  } catch (const ValueError& error) {
    throw ValueError(of_option(error));
  } catch (const NotFoundError& error) {
    throw NotFoundError(of_option(error));
  }
}

}  // namespace octet::program
