// Text of octet explain: sections, and names grouped by reason.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/io/lint.h>
#include <octet/io/onnx.h>

namespace octet::program {

/// Returns "a, b and 3 more".
std::string some_of(const std::vector<std::string>& names);

/// The sections of the page.
class Page {
 public:
  explicit Page(std::string title) : text_(std::move(title) + "\n") {}
  void section(const char* heading);
  void line(const std::string& text);
  /// Adds a command that runs as printed.
  void command(const std::string& why, const std::string& command);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Names by reason, in the order of their first occurrence.
class Reasons {
 public:
  void add(const std::string& reason, const std::string& name);
  bool empty() const { return all_.empty(); }
  void print(Page& page) const;

 private:
  using Entry = std::pair<std::string, std::vector<std::string>>;
  std::vector<Entry> all_;
};

/// Adds the sections of quantized and of float layers, by the forecast, and the
/// types of an ONNX file.
void add_precisions(const io::LintReport& lint,
                    const std::optional<io::OnnxSummary>& summary, Page& page);

}  // namespace octet::program
