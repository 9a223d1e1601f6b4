// Constants that depend on how many samples there are. Internal to
// io/onnx/import.
#pragma once

#include <optional>

#include "graph.h"

namespace octet::io::importing {

/// What a node makes of constants alone, where sizes with kBatch or constants
/// with one entry for each sample are among them; nothing unless that is a
/// constant with one entry for each sample again, for any number of them.
std::optional<Constant> fold_for_samples(ImportGraph& graph,
                                         const onnx::NodeProto& node);

}  // namespace octet::io::importing
