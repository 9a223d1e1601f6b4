// Constants that depend on the number of samples. Internal to io/onnx.
#pragma once

#include <optional>

#include "fold.h"

namespace octet::io::importing {

/// Folds a node of constants that include sizes of the batch or constants with
/// an entry for each sample. Returns nothing unless the result is such a
/// constant, or the same, for any number of samples.
std::optional<Constant> fold_for_samples(OnnxGraph& graph,
                                         const onnx::NodeProto& node);

}  // namespace octet::io::importing
