// Silences warnings.
#pragma once

#include <utility>

#include <octet/runtime/error.h>

namespace octet::program {

/// Silences warnings during its lifetime, where they were already shown or
/// concern an attempt that the user did not ask for.
class Silence {
 public:
  Silence() : before_(set_warning_sink({})) {}
  ~Silence() { set_warning_sink(std::move(before_)); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  WarningSink before_;
};

}  // namespace octet::program
