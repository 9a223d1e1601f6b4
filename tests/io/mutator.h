// Random damage to files, mostly at sensitive positions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace octet::io {

/// Duration of a test: the given number of runs, or OCTET_FUZZ_SECONDS.
class FuzzRuns {
 public:
  explicit FuzzRuns(uint64_t runs) : runs_(runs) {
    if (const char* wanted = std::getenv("OCTET_FUZZ_SECONDS")) {
      seconds_ = std::atof(wanted);
    }
  }
  bool more(uint64_t done) const {
    if (!seconds_) return done < runs_;
    return std::chrono::steady_clock::now() - start_ <
           std::chrono::duration<double>(*seconds_);
  }

 private:
  uint64_t runs_;
  std::optional<double> seconds_;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

/// Damages HDF5 and other binary files.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string damage(std::string bytes) {
    const uint64_t changes = 1 + below(8);
    for (uint64_t i = 0; i < changes; ++i) change(bytes);
    if (below(20) == 0) bytes.resize(below(bytes.size()));
    return bytes;
  }

 private:
  uint64_t below(uint64_t end) { return random_() % end; }

  /// Prefers metadata to data.
  size_t place(const std::string& bytes) {
    static constexpr const char* kMarks[] = {"TREE", "HEAP", "SNOD", "GCOL"};
    size_t at = below(bytes.size());
    if (below(4) != 0) {
      const size_t mark = bytes.find(kMarks[below(std::size(kMarks))], at);
      // Object headers have no signature, but are near these.
      if (mark != std::string::npos) at = mark - std::min(mark, below(600));
      at += below(300);
    } else if (below(2) != 0) {
      at = below(std::min<size_t>(bytes.size(), 4096));
    }
    return std::min(at, bytes.size() - 1);
  }

  void change(std::string& bytes) {
    const size_t at = place(bytes);
    const size_t room = bytes.size() - at;
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 2: {
        static constexpr uint64_t kNumbers[] = {0,
                                                1,
                                                8,
                                                0x7fffffff,
                                                0x80000000,
                                                0xffffffff,
                                                0x7fffffffffffffff,
                                                ~uint64_t{0},
                                                1 << 20};
        const uint64_t number = kNumbers[below(std::size(kNumbers))];
        const size_t width = std::min<size_t>(size_t{1} << below(4), room);
        std::memcpy(bytes.data() + at, &number, width);
        break;
      }
      case 3:
        std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at),
                    std::min<size_t>(below(32), room),
                    below(2) == 0 ? '\0' : '\xff');
        break;
      case 4: {
        const size_t from = place(bytes);
        const size_t count =
            std::min({size_t{8} << below(4), room, bytes.size() - from});
        std::memmove(bytes.data() + at, bytes.data() + from, count);
        break;
      }
    }
  }

  std::mt19937_64 random_;
};

/// Damages JSON: replaces words and numbers, so that it still parses.
class JsonMutator {
 public:
  explicit JsonMutator(uint64_t seed) : random_(seed) {}

  std::string damage(std::string text) {
    for (uint64_t i = 1 + below(4); i > 0; --i) {
      const std::vector<Token> tokens = tokens_of(text);
      const Token& to = tokens[below(tokens.size())];
      text.replace(to.at, to.size, other(text, tokens));
    }
    return text;
  }

 private:
  struct Token {
    size_t at;
    size_t size;
  };

  uint64_t below(uint64_t end) { return random_() % end; }

  std::string other(const std::string& text, const std::vector<Token>& tokens) {
    static constexpr const char* kValues[] = {
        "0",     "-1",   "2",    "1000000007", "99999999999999999999",
        "1e300", "0.5",  "[]",   "{}",         "null",
        "true",  "[[]]", "\"\"", "[1, 2, 3]",  "{\"class_name\": \"Add\"}"};
    if (below(2) == 0) return kValues[below(std::size(kValues))];
    const Token& from = tokens[below(tokens.size())];
    return text.substr(from.at, from.size);
  }

  /// Strings, numbers and the three literals.
  static std::vector<Token> tokens_of(const std::string& text) {
    constexpr std::string_view kWord =
        "0123456789+-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::vector<Token> tokens;
    for (size_t at = 0; at < text.size();) {
      size_t end = at + 1;
      if (text[at] == '"') {
        end = text.find('"', at + 1);
        end = end == text.npos ? text.size() : end + 1;
      } else if (kWord.find(text[at]) != kWord.npos) {
        end = std::min(text.find_first_not_of(kWord, at), text.size());
      } else {
        ++at;
        continue;
      }
      tokens.push_back({at, end - at});
      at = end;
    }
    if (tokens.empty()) tokens.push_back({0, text.size()});
    return tokens;
  }

  std::mt19937_64 random_;
};

}  // namespace octet::io
