// Sections of a report as HTML without headings; empty if there is no data.
// Internal to io.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <octet/io/report.h>

namespace octet::io {

std::string accuracy_section(const Report& report);
std::string noise_section(const Report& report);
std::string activation_section(const Report& report);
std::string confusion_section(const Report& report);
std::string fault_section(const Report& report);
std::string sensitivity_section(const Report& report);
std::string oscillation_section(const Report& report);
std::string lint_section(const Report& report);
std::string speed_section(const Report& report);
std::string curve_section(const Report& report);
std::string graph_section(const Report& report);

/// "41.2 dB"; "equal" for no difference.
std::string decibels_text(double sqnr);
/// "0.26 MiB".
std::string mebibytes(int64_t bytes);
/// "1 error", "2 errors".
std::string count_text(int64_t count, std::string_view noun);

}  // namespace octet::io
