// Small pictures of a report: SVG and tables that take their colours from the
// page. Internal to io.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <octet/io/report.h>

namespace octet::io {

/// Counts on a logarithmic axis, lines where the codes end.
std::string histogram_chart(const ActivationHistogram& histogram);

/// Curves over the epochs with one axis of values.
std::string curve_chart(std::span<const ReportCurve> curves);

/// A bar of `share`, [0,1], of a cell's width.
std::string bar(double share);

/// Counts by actual and predicted class; the shade is the share of a row.
std::string confusion_table(const train::ConfusionMatrix& confusion,
                            std::span<const std::string> names);

}  // namespace octet::io
