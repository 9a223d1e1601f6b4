// Charts of a report: SVG and tables with the colors of the page. Internal to
// io.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <octet/io/report.h>

namespace octet::io {

/// Counts on a logarithmic axis, with lines at the ends of the range.
std::string histogram_chart(const ActivationHistogram& histogram);

/// Curves over epochs with a shared value axis.
std::string curve_chart(std::span<const ReportCurve> curves);
/// Sample of the line of curve `index`, for a legend.
std::string curve_key(size_t index);

/// SQNR of each value in order, in dB; the largest added noise is highlighted.
std::string sqnr_chart(std::span<const ValueDifference> values);

/// A bar filled to `share`, [0,1].
std::string bar(double share);

/// Counts by actual and predicted class, shaded by the share of the row.
std::string confusion_table(const train::ConfusionMatrix& confusion,
                            std::span<const std::string> names);

}  // namespace octet::io
