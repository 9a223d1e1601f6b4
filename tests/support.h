// Utilities of the tests of all modules.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ostream>
#include <string>
#include <typeinfo>
#include <vector>

#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Returns a copy of the elements, which outlives the tensor.
template <class T>
std::vector<T> elements(const Tensor& tensor) {
  const auto all = tensor.data<T>();
  return {all.begin(), all.end()};
}
inline std::vector<float> values(const Tensor& tensor) {
  return elements<float>(tensor);
}
inline std::vector<float> values(const Variable& variable) {
  return values(variable.value());
}

inline std::vector<uint32_t> bits(const Tensor& tensor) {
  std::vector<uint32_t> result(static_cast<size_t>(tensor.size()));
  std::memcpy(result.data(), tensor.raw(), result.size() * sizeof(uint32_t));
  return result;
}
inline std::vector<uint32_t> bits(const Variable& variable) {
  return bits(variable.value());
}

/// Returns the values 0, 1, 2, ...: each element identifies its position.
inline Tensor counting(const Shape& shape) {
  Tensor result(shape);
  float next = 0;
  for (float& v : result.f32()) v = next++;
  return result;
}

/// Returns values that are uniform in [-1, 1).
inline Tensor noise(const Shape& shape, uint64_t seed = 1) {
  Tensor result(shape);
  Rng(seed).fill_uniform(result, -1, 1);
  return result;
}

/// Returns the resident memory of the process in bytes.
inline int64_t resident_bytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

/// Identity of an error or warning: code and subject, which == compares. The
/// wording may change; tests/<module>/messages.txt lists it for review.
struct Failure {
  std::string code;
  std::string subject;
  std::string message = {};
  std::vector<std::string> context = {};  ///< frames, innermost first

  /// The message without its subject and context.
  std::string text() const {
    const size_t begin = subject.empty() ? 0 : subject.size() + 2;
    size_t end = message.size();
    for (const std::string& frame : context) end -= frame.size() + 3;
    return message.substr(begin, end - begin);
  }

  friend bool operator==(const Failure& a, const Failure& b) {
    return a.code == b.code && a.subject == b.subject;
  }
  friend void PrintTo(const Failure& failure, std::ostream* out) {
    *out << "Failure{\"" << failure.code << "\", \"" << failure.subject
         << "\"} " << failure.message;
  }
};

/// Appends the error to the file that OCTET_FAILURE_LOG names, for the examples
/// of tests/messages.py.
inline void log_failure(const std::string& code, const std::string& message) {
  const char* log = std::getenv("OCTET_FAILURE_LOG");
  if (log == nullptr) return;
  std::ofstream(log, std::ios::app)
      << code + "\n" + message + std::string(1, '\0');
}

/// Returns the failure that `body` causes, which must be an E:
///   EXPECT_EQ(failure_of<ShapeError>([&] { (void)matmul(a, b); }),
///             (Failure{"shape_mismatch", "matmul"}));
template <class E, class Body>
Failure failure_of(Body body) {
  try {
    body();
  } catch (const E& error) {
    log_failure(error.code(), error.message());
    return {error.code(), error.subject(), error.what(), error.context()};
  } catch (const std::exception& error) {
    return {"error of another type", typeid(error).name(), error.what()};
  }
  return {"no error", ""};
}

/// Returns the message and context of the E that `body` throws.
template <class E, class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("error of another type: ") + error.what();
  }
  return "no error";
}

/// Collects warnings during its lifetime.
class WarningCapture {
 public:
  WarningCapture()
      : before_(set_warning_sink([this](const Warning& warning) {
          messages.push_back({warning.code, warning.subject, warning.message});
        })) {}
  ~WarningCapture() { set_warning_sink(before_); }
  WarningCapture(const WarningCapture&) = delete;
  WarningCapture& operator=(const WarningCapture&) = delete;

  std::vector<Failure> messages;

 private:
  WarningSink before_;
};

/// Restores the number of threads at the end of its lifetime.
class ThreadCountGuard {
 public:
  ThreadCountGuard() : before_(num_threads()) {}
  ~ThreadCountGuard() { set_num_threads(before_); }
  ThreadCountGuard(const ThreadCountGuard&) = delete;
  ThreadCountGuard& operator=(const ThreadCountGuard&) = delete;

 private:
  int before_;
};

}  // namespace octet
