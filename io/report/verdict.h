// Verdict of a report: the heading in one sentence. Internal to io.
#pragma once

#include <string>
#include <string_view>

#include <octet/io/report.h>

namespace octet::io {

enum class VerdictLevel { good, fair, poor, open };

/// Returns "good", "fair", "poor" or "open".
std::string_view to_string(VerdictLevel level);

struct Verdict {
  VerdictLevel level = VerdictLevel::open;  ///< open: nothing to judge by
  std::string text;
};

/// Judges by accuracy, agreement of predictions or SQNR of the outputs, in this
/// order; lint and quantizer findings reduce the level. Good: at least 99 % of
/// the reference accuracy, as MLPerf Inference demands of quantized models, 99
/// % agreement, or 30 dB; fair: 97 % or 20 dB.
Verdict verdict_of(const Report& report);

}  // namespace octet::io
