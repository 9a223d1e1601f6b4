// Style sheet and script of a report: report.css and report.js, embedded by
// CMake. Internal to io.
#pragma once

#include <string_view>

namespace octet::io {

extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;

}  // namespace octet::io
